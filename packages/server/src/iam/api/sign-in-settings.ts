/** Sign-in settings of an organization: requirements, and its appearance on the pages. */
import { create } from "@bufbuild/protobuf";
import { type SignInSettings, SignInSettingsSchema, SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, read } from "../../api/call/implement.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { failedPrecondition, invalidArgument, notFound } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { type Logo, logoParser, MAX_LOGO_BYTES } from "../logos/logo-parser.ts";
import { logoPath } from "../logos/logo-path.ts";
import { problemOf } from "../policy/sign-in-policy.ts";
import type { SignInSettingsTable } from "../tables.ts";
import { type DiscoverProviderCollaborators, discoverProvider } from "./discover-provider.ts";

export interface SignInSettingsCollaborators extends DiscoverProviderCollaborators {
  readonly grants: Grants;
  readonly parsers: Parsers;
}

const MAX_NAME_LENGTH = 100;

export function signInSettingsService(collaborators: SignInSettingsCollaborators) {
  const { grants, parsers, baseUrl } = collaborators;
  return implement(SignInSettingsService, {
    getSignInSettings: read(async ({ uid }, { db }) => messageFromRow(await find(db, uid), baseUrl)),

    discoverProvider: read((request) => discoverProvider(request, collaborators)),

    updateSignInSettings: {
      kind: "write",
      async prepare({ signInSettings }): Promise<Logo | undefined> {
        const { uid = "", logo } = signInSettings ?? {};
        if (logo === undefined || logo.length === 0) return undefined;
        if (logo.length > MAX_LOGO_BYTES) throw invalidArgument("logo", `logo must have at most ${MAX_LOGO_BYTES} bytes`);
        return parsers.run(logoParser, logo, uid);
      },
      async handle({ signInSettings, updateMask }, call, logo: Logo | undefined) {
        const incoming = signInSettings as SignInSettings;
        await call.db.dialect.forUpdate(call.db.selectFrom("group").select("uid").where("uid", "=", incoming.uid)).execute();
        const row = await find(call.db, incoming.uid);
        const current = messageFromRow(row, baseUrl);
        // A mark for the stored logo, so that the mask can keep, replace and remove it.
        current.logo = Buffer.from(row.logo === "" ? "" : "stored");
        const next = applyMask(SignInSettingsSchema, current, incoming, updateMask);
        const kept = next.logo.length === 0 ? NO_LOGO : { logo_type: row.logo_type, logo: row.logo };
        const isNew = logo !== undefined && next.logo !== current.logo && Buffer.from(next.logo).equals(Buffer.from(incoming.logo));
        const changed = {
          ...rowFromMessage(next),
          ...(isNew ? { logo_type: logo.type, logo: Buffer.from(logo.bytes).toString("base64") } : kept),
        };
        call.changed = JSON.stringify(changed) !== JSON.stringify(row);
        if (call.changed) await save(changed, call, grants);
        return messageFromRow(changed, baseUrl);
      },
    },
  });
}

const NO_LOGO = { logo_type: "", logo: "" };

/** @throws NOT_FOUND; INVALID_ARGUMENT for a folder */
async function find(db: ReadDb, uid: string): Promise<SignInSettingsTable> {
  const group = await db.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (group === undefined) throw notFound("Group", uid.slice(0, 200));
  if (!isInRoot(uid)) throw invalidArgument("uid", "uid must be that of an organization: its folders share its settings");
  const row = await db.selectFrom("sign_in_settings").selectAll().where("org_uid", "=", uid).executeTakeFirst();
  return row ?? { ...rowFromMessage(create(SignInSettingsSchema, { uid })), ...NO_LOGO };
}

async function save(row: SignInSettingsTable, call: WriteCall, grants: Grants): Promise<void> {
  const { org_uid, ...values } = row;
  if (!isCleanText(row.display_name) || row.display_name.length > MAX_NAME_LENGTH)
    throw invalidArgument("display_name", `display_name must have at most ${MAX_NAME_LENGTH} characters, without control characters`);
  if (row.requires_own_provider === 1) await assertHasProvider(call.db, org_uid);
  assertCallerSatisfies(row, call);
  await call.db
    .insertInto("sign_in_settings")
    .values(row)
    .onConflict((conflict) => conflict.column("org_uid").doUpdateSet(values))
    .execute();
  await grants.recordChange(call.db, [org_uid]);
}

async function assertHasProvider(db: WriteDb, uid: string): Promise<void> {
  const provider = await db.selectFrom("identity_provider").select("uid").where("parent", "=", uid).limit(1).executeTakeFirst();
  if (provider === undefined)
    throw failedPrecondition("NO_IDENTITY_PROVIDER", "the organization has no identity provider that its people could sign in through");
}

/** A caller that requires more than its own sign-in shows would lose its rights with this call. */
function assertCallerSatisfies(row: SignInSettingsTable, { principal }: WriteCall): void {
  const policy = {
    forbidsLocalAccounts: row.forbids_local_accounts === 1,
    requiresSecondFactor: row.requires_second_factor === 1,
    requiresOwnProvider: row.requires_own_provider === 1,
  };
  const problem = principal && problemOf(policy, row.org_uid, principal);
  if (problem === undefined) return;
  throw failedPrecondition(
    problem,
    `your own sign-in would not satisfy this (${problem}), and you would lose your rights; sign in as required first`,
  );
}

function rowFromMessage(settings: SignInSettings): Omit<SignInSettingsTable, "logo" | "logo_type"> {
  return {
    org_uid: settings.uid,
    forbids_local_accounts: Number(settings.localAccountsForbidden),
    requires_second_factor: Number(settings.secondFactorRequired),
    requires_own_provider: Number(settings.ownProviderRequired),
    allows_account_links: Number(settings.accountLinksAllowed),
    display_name: settings.displayName,
  };
}

function messageFromRow(row: SignInSettingsTable, baseUrl: string): SignInSettings {
  return create(SignInSettingsSchema, {
    uid: row.org_uid,
    localAccountsForbidden: row.forbids_local_accounts === 1,
    secondFactorRequired: row.requires_second_factor === 1,
    ownProviderRequired: row.requires_own_provider === 1,
    accountLinksAllowed: row.allows_account_links === 1,
    displayName: row.display_name,
    logoUri: row.logo === "" ? "" : `${baseUrl}${logoPath(row.org_uid, row.logo)}`,
  });
}
