/** A server with its owner, and with functions that create and sign in robots and users. */
import { randomBytes } from "node:crypto";
import { after, before, describe } from "node:test";
import type { DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { MembershipsService } from "@holt/api/gen/holt/v1/memberships_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from "jose";
import { rootOf, uidFromText } from "../../src/lib/uid.ts";
import { answerOf, type HttpAnswer } from "./clients.ts";
import { type ServerOptions, type StoreName, startServer, storeNames, type TestServer } from "./harness.ts";
import { createManualClock, type ManualClock } from "./manual-clock.ts";
import { startIssuer } from "./oidc-issuer.ts";

/** An identity and its token. */
export interface Caller {
  readonly uid: string;
  readonly token: string;
}

export interface Narrowing {
  readonly scopes?: string[];
  /** Names of capabilities, such as `groups.list`. */
  readonly cap?: string[];
}

export interface World extends TestServer {
  /** Stands still until a test moves it. */
  readonly clock: ManualClock;
  readonly owner: Caller;
  /** URL of the users' identity provider. */
  readonly issuer: string;
  /** Calls over REST, by default as the owner. @throws if the server refuses */
  must<M extends DescMethodUnary>(method: M, request: MessageInitShape<M["input"]>, token?: string): Promise<MessageShape<M["output"]>>;
  /** Sends a REST request with a JSON body, by default as the owner. */
  raw(method: string, path: string, body?: unknown, token?: string): Promise<HttpAnswer>;
  /** Creates a group. @returns its uid */
  group(parent: string, name?: string): Promise<string>;
  /** Creates a role with exactly these capabilities. @returns its uid */
  role(group: string, capabilities: readonly Capability[]): Promise<string>;
  /** Binds the identity to the role at the group. @returns the uid of the binding */
  bind(identityUid: string, roleUid: string, group: string): Promise<string>;
  /** Creates and signs in an identity of the group. With capabilities, it is bound there to a role with exactly these. */
  robot(group: string, capabilities?: readonly Capability[]): Promise<Caller>;
  /** Registers and signs in a user, who belongs to no group. */
  user(subject?: string): Promise<Caller>;
  /** Lets a user who is bound in the group's organization join it. */
  join(user: Caller, group: string): Promise<void>;
  /** A token of the identity provider, with which the user registers and signs in. */
  proofOf(subject: string, claims?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Uid that a user with this subject has or will have. */
  userUid(subject: string): string;
  /** Signs in a robot once more. */
  signIn(uid: string, narrowing?: Narrowing): Promise<Caller>;
  /** A JWT with which any robot can sign in. */
  robotProof(): Promise<string>;
  /** Exchanges the token for a narrower one. */
  narrow(caller: Caller, narrowing: Narrowing): Promise<Caller>;
}

const ROBOT_ISSUER = "https://robots.test";
const robotKeys = generateKeyPair("ES256").then(async ({ privateKey, publicKey }) => ({
  privateKey,
  jwks: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] }),
}));

export async function startWorld(options: Omit<ServerOptions, "clock"> = {}): Promise<World> {
  await using cleanUp = new AsyncDisposableStack();
  const clock = createManualClock(new Date());
  // Creating an RSA key would take a twentieth of the CPU time of a short test.
  const issuer = cleanUp.use(await startIssuer({ now: clock.now, algorithm: "ES256" }));
  const env = { HOLT_USER_ISSUERS: issuer.issuer, HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8", ...options.env };
  const server = cleanUp.use(await startServer({ ...options, env, clock }));
  const { rest, baseUrl } = server;
  const owner = { uid: subjectOf(server.token), token: server.token };
  const owned = cleanUp.move();

  async function exchange(proof: string, identity: string, { scopes = [], cap = [] }: Narrowing): Promise<Caller> {
    const { token } = answerOf(await rest.call(SecurityTokenService.method.exchange, { identity, scopes, cap }, proof));
    return { uid: subjectOf(token), token };
  }

  const world: World = {
    ...server,
    clock,
    owner,
    issuer: issuer.issuer,
    async must(method, request, token = owner.token) {
      return answerOf(await rest.call(method, request, token));
    },
    raw(method, path, body, token = owner.token) {
      const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
      return server.http(method, path, text as string | undefined, { authorization: `Bearer ${token}` });
    },
    async group(parent, name = "folder") {
      return (await world.must(GroupsService.method.createGroup, { parent, group: { name } })).uid;
    },
    async role(parent, capabilities) {
      return (await world.must(RolesService.method.createRole, { parent, role: { name: "role", capabilities: [...capabilities] } })).uid;
    },
    async bind(identityUid, roleUid, parent) {
      return (await world.must(RoleBindingsService.method.createRoleBinding, { parent, roleBinding: { identityUid, roleUid } })).uid;
    },
    async robot(parent, capabilities = []) {
      const { jwks } = await robotKeys;
      const staticKeys = { issuer: ROBOT_ISSUER, subject: "robot", issuerKeys: jwks };
      const identity = { name: "robot", relationship: { case: "staticKeys", value: staticKeys } } as const;
      const { uid } = await world.must(IdentitiesService.method.createIdentity, { parent, identity });
      if (capabilities.length > 0) await world.bind(uid, await world.role(parent, capabilities), parent);
      return world.signIn(uid);
    },
    async signIn(uid, narrowing = {}) {
      return exchange(await world.robotProof(), uid, narrowing);
    },
    async robotProof() {
      const seconds = Math.floor(clock.now().getTime() / 1000);
      const { privateKey } = await robotKeys;
      return new SignJWT({ iss: ROBOT_ISSUER, sub: "robot", aud: baseUrl, iat: seconds, exp: seconds + 3600 })
        .setProtectedHeader({ alg: "ES256" })
        .sign(privateKey);
    },
    async user(subject = randomBytes(4).toString("hex")) {
      const proof = await world.proofOf(subject);
      await world.must(Auth.method.register, {}, proof);
      return exchange(proof, "", {});
    },
    async join({ token }, group) {
      await world.must(MembershipsService.method.acceptMembership, { uid: rootOf(group) }, token);
    },
    proofOf: (subject, claims = {}) => issuer.sign({ sub: subject, aud: baseUrl, ...claims }),
    userUid: (subject) => uidFromText(`${issuer.issuer}\n${subject}`),
    narrow: ({ token }, narrowing) => exchange(token, "", narrowing),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  return world;
}

/** Defines the tests for each store, with one world per store. The world exists while tests run, not while they are defined. */
export function describeWithWorld(
  title: string,
  define: (world: World) => void,
  options: Omit<ServerOptions, "clock" | "store"> = {},
): void {
  describeOnStores(title, (store) => startWorld({ store, ...options }), define);
}

/** The same with another kind of world. */
export function describeOnStores(title: string, start: (store: StoreName) => Promise<World>, define: (world: World) => void): void {
  for (const store of storeNames) {
    describe(`${title} on ${store}`, () => {
      const world = {} as World;
      before(async () => {
        Object.assign(world, await start(store));
      });
      after(() => world[Symbol.asyncDispose]());
      define(world);
    });
  }
}

/** The subject of a token of the test server, which needs no verification. */
function subjectOf(token: string): string {
  return decodeJwt(token).sub ?? "";
}
