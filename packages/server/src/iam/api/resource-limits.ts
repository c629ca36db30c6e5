/** Limits that the operator sets for organizations, and their usage. */
import { create } from "@bufbuild/protobuf";
import {
  type ResourceLimits,
  ResourceLimitsSchema,
  ResourceLimitsService,
  ResourceUsageSchema,
} from "@holt/api/gen/holt/v1/resource_limits_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import { storageOf } from "../../blobs/organization-storage.ts";
import type { BlobReference } from "../../blobs/references.ts";
import { LIMIT_NAMES, LIMITED_ROWS, type LimitName, readLimits } from "../../db/organization-limits.ts";
import { countOf } from "../../db/resource-count.ts";
import type { OrganizationLimitTable } from "../../db/schema.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { invalidArgument, notFound } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { isInRoot } from "../../lib/uid.ts";
import { groups } from "./groups.ts";
import { isStaff, type StaffCollaborators } from "./staff.ts";

export interface ResourceLimitsCollaborators extends StaffCollaborators {
  readonly blobReferences: readonly BlobReference[];
}

const SEE = capabilitySet([Capability.CAP_IAM_GROUPS_LIST]);
const CHANGE = capabilitySet([Capability.CAP_INTERNAL]);

const FIELDS = {
  repositories: "repositories",
  identities: "identities",
  subscriptions: "subscriptions",
  idps: "idps",
  storage_mb: "storageMb",
  calls_per_second: "callsPerSecond",
  calls_per_second_per_identity: "callsPerSecondPerIdentity",
} as const satisfies Record<LimitName, keyof ResourceLimits>;

export function resourceLimitsService(collaborators: ResourceLimitsCollaborators) {
  const { blobReferences } = collaborators;
  return implement(ResourceLimitsService, {
    getResourceLimits: read(async ({ uid }, call) => {
      if (!isStaff(call, uid, collaborators)) await assertHolds({ kind: "Group", uid }, SEE, call.access, call.db);
      return withUsage(await find(uid, call.db), call.db, blobReferences);
    }),

    updateResourceLimits: write(async ({ resourceLimits, updateMask }, call) => {
      const incoming = resourceLimits as ResourceLimits;
      const { db } = call;
      // The bootstrap owner may, without a binding.
      if (!isStaff(call, incoming.uid, collaborators)) await assertHolds({ kind: "Group", uid: incoming.uid }, CHANGE, call.access, db);
      await db.dialect.forUpdate(db.selectFrom("group").select("uid").where("uid", "=", incoming.uid)).execute();
      const current = await find(incoming.uid, db);
      const next = applyMask(ResourceLimitsSchema, current, incoming, updateMask);
      for (const name of LIMIT_NAMES)
        if (next[FIELDS[name]] < 0) throw invalidArgument(name, `${name} must not be negative; 0 is no limit`);
      call.changed = LIMIT_NAMES.some((name) => next[FIELDS[name]] !== current[FIELDS[name]]);
      if (call.changed) await save(next, db);
      return withUsage(next, db, blobReferences);
    }),
  });
}

/** @throws NOT_FOUND; INVALID_ARGUMENT for a folder */
async function find(uid: string, db: ReadDb): Promise<ResourceLimits> {
  const group = await db.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (group === undefined) throw notFound("Group", uid.slice(0, 200));
  if (!isInRoot(uid)) throw invalidArgument("uid", "uid must be that of an organization: its folders share its limits");
  const limits = await readLimits(db, uid);
  const message = create(ResourceLimitsSchema, { uid });
  for (const name of LIMIT_NAMES) message[FIELDS[name]] = limits[name] ?? 0;
  return message;
}

async function withUsage(limits: ResourceLimits, db: ReadDb, references: readonly BlobReference[]): Promise<ResourceLimits> {
  const usage = create(ResourceUsageSchema, { storageBytes: BigInt(await storageOf(db, limits.uid, references)) });
  for (const table of ["repo", "identity", "subscription", "identity_provider"] as const)
    usage[LIMITED_ROWS[table]] = BigInt((await countOf(db, table, limits.uid)).below);
  return { ...limits, usage };
}

/** Keeps the rows of limits that stay. If a row were replaced, a transaction that waits for it would find no limit. */
async function storeLimits(uid: string, limits: readonly OrganizationLimitTable[], db: WriteDb): Promise<void> {
  const names = db.dialect.valuesOf(limits.map(({ name }) => name));
  await db
    .deleteFrom("organization_limit")
    .where("org_uid", "=", uid)
    .where("name", "not in", db.selectFrom(names.as("v")).select("v.value"))
    .execute();
  if (limits.length === 0) return;
  await db
    .insertInto("organization_limit")
    .values(limits)
    .onConflict((conflict) => conflict.columns(["org_uid", "name"]).doUpdateSet((eb) => ({ value: eb.ref("excluded.value") })))
    .execute();
}

async function save(limits: ResourceLimits, db: WriteDb): Promise<void> {
  const { uid } = limits;
  const values = LIMIT_NAMES.flatMap((name) => (limits[FIELDS[name]] === 0 ? [] : [{ org_uid: uid, name, value: limits[FIELDS[name]] }]));
  await storeLimits(uid, values, db);
  const { body } = await db.selectFrom("group").select("body").where("uid", "=", uid).executeTakeFirstOrThrow();
  const resourceLimits = Object.fromEntries(values.map(({ name, value }) => [name, value]));
  const shown = groups.encode({ ...messageFromJson(GroupSchema, body), resourceLimits });
  await db.updateTable("group").set({ body: shown }).where("uid", "=", uid).execute();
}
