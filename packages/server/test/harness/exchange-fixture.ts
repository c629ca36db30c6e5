/** Assembles token exchange on a database in a temporary folder, for the unit tests of iam/. Starts no server. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { createGrants } from "../../src/iam/grants/grants.ts";
import { encodeIdentity } from "../../src/iam/identities/identity-record.ts";
import { createUserLogins, type UserLoginsOptions } from "../../src/iam/identities/user-login.ts";
import { createRegistrations } from "../../src/iam/joining/register.ts";
import { createAccessTokens } from "../../src/iam/tokens/access-token.ts";
import { createAudienceList } from "../../src/iam/tokens/audience.ts";
import { createAwsProofs } from "../../src/iam/tokens/aws-proof.ts";
import type { ExchangeRequest, RefreshRequest } from "../../src/iam/tokens/exchange-request.ts";
import { createTokenExchange } from "../../src/iam/tokens/exchange-token.ts";
import { createJwksCache } from "../../src/iam/tokens/jwks.ts";
import { createLogins } from "../../src/iam/tokens/login.ts";
import { createLoginTokens } from "../../src/iam/tokens/login-token.ts";
import type { ExchangedTokens } from "../../src/iam/tokens/record-exchange.ts";
import { createSigningKeys } from "../../src/iam/tokens/signing-keys.ts";
import { createWaitLimit } from "../../src/iam/tokens/wait-limit.ts";
import { createWorkloadLogins, type WorkloadLoginsOptions } from "../../src/iam/tokens/workload-login.ts";
import { timestampFromDate } from "../../src/lib/clock.ts";
import { createLog } from "../../src/lib/log.ts";
import { newUid } from "../../src/lib/uid.ts";
import { createOutboundClient } from "../../src/outbound/client.ts";
import { createManualClock } from "./manual-clock.ts";

export const ISSUER = "https://issuer.holt.test";
export const API = "https://api.holt.test";

export interface FixtureOptions
  extends Partial<Pick<UserLoginsOptions, "clientIds" | "userIssuers">>,
    Partial<Pick<WorkloadLoginsOptions, "servicePrincipals">> {
  /** URL of a PostgreSQL database; SQLite if it is left out. */
  readonly url?: string;
  readonly stsUrl?: string;
}

export type Fixture = Awaited<ReturnType<typeof createFixture>>;

export async function createFixture(options: FixtureOptions = {}) {
  const clock = createManualClock();
  const log = createLog("silent");
  const dataDir = await mkdtemp(join(tmpdir(), "holt-auth-"));
  const store = await openDatabase({ url: options.url ?? "", dataDir, log });
  const client = createOutboundClient({ allowCidrs: ["127.0.0.0/8"] });
  const keys = await createSigningKeys({ store, clock, log });
  const issuable = createAudienceList([API, ISSUER, "registry.holt.test", "*.registry.holt.test"]);
  const accessTokens = createAccessTokens({ issuer: ISSUER, keys, clock, audiences: createAudienceList([API, ISSUER]) });
  const grants = createGrants({ store });
  const waits = createWaitLimit({ maxConcurrentCalls: 1024, trusted: new Set() });
  const jwks = createJwksCache({ client, clock, log, waits, trusted: new Set() });
  const awsProofs = createAwsProofs({
    client,
    waits,
    issuer: ISSUER,
    headerPrefixes: ["holt"],
    ...(options.stsUrl !== undefined && { stsUrl: options.stsUrl }),
  });
  const users = createUserLogins({
    store,
    grants,
    jwks,
    issuer: ISSUER,
    clientIds: options.clientIds ?? [],
    userIssuers: options.userIssuers ?? [],
  });
  const workloads = createWorkloadLogins({
    jwks,
    issuer: ISSUER,
    issuable,
    servicePrincipals: options.servicePrincipals ?? new Map(),
  });
  const loginTokens = createLoginTokens({ issuer: ISSUER }, keys);
  const logins = createLogins({ accessTokens, loginTokens, grants, users, workloads, awsProofs, issuable, hasLocalAccounts: true });
  const exchange = createTokenExchange({ store, log, accessTokens, grants, logins, issuable, defaultAudience: API });
  const registrations = createRegistrations({ users, grants });

  async function addGroup(parent = ""): Promise<string> {
    const uid = newUid(parent);
    const time = clock.now().toISOString();
    await store.transaction((db) =>
      db
        .insertInto("group")
        .values({
          uid,
          parent: parent === "" ? null : parent,
          name: "group",
          create_time: time,
          update_time: time,
          verified: 0,
          body: "{}",
        })
        .execute(),
    );
    return uid;
  }

  async function addIdentity(
    parent: string,
    relationship: NonNullable<MessageInitShape<typeof IdentitySchema>["relationship"]>,
    uid: string = newUid(parent),
  ): Promise<string> {
    const now = timestampFromDate(clock.now());
    const identity = create(IdentitySchema, { uid, name: "robot", createTime: now, updateTime: now, lastSeenTime: now, relationship });
    const time = clock.now().toISOString();
    const row = {
      uid,
      parent: parent === "" ? null : parent,
      name: "robot",
      create_time: time,
      update_time: time,
      relationship_type: 1,
      body: encodeIdentity(identity),
    };
    await store.transaction(async (db) => {
      await db.insertInto("identity").values(row).execute();
      await grants.recordChange(db, [uid]);
    });
    return uid;
  }

  /** Binds the identity at the group to a new role with these capabilities. */
  async function bind(identity: string, group: string, capabilities: bigint): Promise<void> {
    const time = clock.now().toISOString();
    const role = newUid("");
    const row = { parent: null, name: "", create_time: time, update_time: time, body: "{}" };
    await store.transaction(async (db) => {
      await db
        .insertInto("role")
        .values({ ...row, uid: role, rank: `1${role}`, capabilities: capabilities.toString(16) })
        .execute();
      await db
        .insertInto("role_binding")
        .values({ ...row, uid: newUid(group), parent: group, identity_uid: identity, role_uid: role })
        .execute();
      await grants.recordChange(db, [identity]);
    });
  }

  async function removeIdentity(uid: string): Promise<void> {
    await store.transaction(async (db) => {
      await db.deleteFrom("identity").where("uid", "=", uid).execute();
      await grants.recordChange(db, [uid]);
    });
  }

  /** @returns the uid of the user's identity */
  async function register(bearer: string): Promise<string> {
    const prepared = await registrations.prepareRegister({ bearer, code: "", identityId: "" }, clock.now(), store.reader);
    await store.transaction((db) => registrations.recordRegister(db, prepared));
    return prepared.identityUid;
  }

  async function exchangeToken(bearer: string, request: Partial<ExchangeRequest> = {}): Promise<ExchangedTokens> {
    const prepared = await exchange.prepareExchange(
      { bearer, aud: [], scopes: [], cap: [], identity: "", ...request },
      clock.now(),
      store.reader,
    );
    return store.transaction((db) => exchange.recordExchange(db, prepared));
  }

  async function refreshToken(bearer: string, request: Partial<RefreshRequest> = {}): Promise<ExchangedTokens> {
    const prepared = await exchange.prepareRefresh({ bearer, aud: [], scopes: [], cap: [], ...request }, clock.now(), store.reader);
    return store.transaction((db) => exchange.recordExchange(db, prepared));
  }

  return {
    clock,
    log,
    store,
    client,
    keys,
    accessTokens,
    grants,
    jwks,
    exchange,
    registrations,
    addGroup,
    addIdentity,
    bind,
    removeIdentity,
    register,
    exchangeToken,
    refreshToken,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
