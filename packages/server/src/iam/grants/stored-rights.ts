/** Reads the bindings and memberships of an identity from the database. identity-rights.ts decides which of them count. */
import { sql } from "kysely";
import type { Binding, Memberships } from "../../access/capabilities.ts";
import type { ReadDb } from "../../db/store.ts";
import { isInRoot, rootOf } from "../../lib/uid.ts";
import { bindingsFromRows } from "./binding-rows.ts";
import { readPendingBindings } from "./pending-bindings.ts";

interface StoredBindings {
  readonly exists: boolean;
  /** When the identity was created; undefined if it does not exist. */
  readonly createTime: string | undefined;
  /** Whether any directory knows the identity. */
  readonly isProvisioned: boolean;
  /** Whether an administrator disabled the local account of the person. */
  readonly isDisabled: boolean;
  readonly bindings: readonly Binding[];
}

export interface StoredRights extends StoredBindings {
  /** Undefined for a workload. */
  readonly memberships: Memberships | undefined;
}

/** Includes pending bindings, and those that a disabled account or a directory makes ineffective. */
export async function readStoredRights(db: ReadDb, uid: string): Promise<StoredRights> {
  const isPerson = isInRoot(uid);
  // Pending bindings come first: if the person joins in between, a binding is read twice instead of never.
  const pending = isPerson ? await readPendingBindings(db, uid) : [];
  const stored = await readBindings(db, uid);
  const memberships = isPerson ? await readMemberships(db, uid) : undefined;
  return { ...stored, bindings: [...stored.bindings, ...pending], memberships };
}

/**
 * The bindings of a workload, or those of a person in organizations that the person has joined; oldest first. One
 * statement, for a consistent read. An identity without bindings yields one row, a missing identity none.
 */
async function readBindings(db: ReadDb, uid: string): Promise<StoredBindings> {
  const rows = await db
    .selectFrom("identity")
    .leftJoin(boundIdentities(uid), "bound.uid", "identity.uid")
    .leftJoin("role_binding", (on) =>
      on
        .onRef("role_binding.identity_uid", "=", "bound.uid")
        .on(sql<boolean>`role_binding.uid >= bound.lower`)
        .on(sql<boolean>`role_binding.uid < bound.upper`),
    )
    .leftJoin("role", "role.uid", "role_binding.role_uid")
    .select(["identity.create_time as createTime", "role_binding.parent as group", "role.capabilities as capabilities"])
    .select((eb) =>
      eb
        .selectFrom("scim_identity")
        .select("scim_identity.identity_uid")
        .whereRef("scim_identity.identity_uid", "=", "identity.uid")
        .limit(1)
        .as("provisioned"),
    )
    .select((eb) =>
      eb
        .selectFrom("local_account")
        .select("local_account.disabled_time")
        .whereRef("local_account.identity_uid", "=", "identity.uid")
        .as("disabled"),
    )
    .where("identity.uid", "=", uid)
    .orderBy("role_binding.create_time")
    .orderBy("role_binding.uid")
    .execute();
  const [first] = rows;
  const isProvisioned = (first?.provisioned ?? null) !== null;
  const isDisabled = (first?.disabled ?? null) !== null;
  return { exists: first !== undefined, createTime: first?.createTime, isProvisioned, isDisabled, bindings: bindingsFromRows(rows) };
}

/** Ranges of uids in which bindings of the identity count: an organization that a person has joined, or a workload's own. */
function boundIdentities(uid: string) {
  const range = sql<{ uid: string; lower: string; upper: string }>;
  const ranges = isInRoot(uid)
    ? range`(select identity_uid as uid, org_uid || '/' as lower, org_uid || '0' as upper from membership where identity_uid = ${uid} and state = 'joined')`
    : range`(select cast(${uid} as text) as uid, cast(${rootOf(uid)} as text) || '/' as lower, cast(${rootOf(uid)} as text) || '0' as upper)`;
  return ranges.as<"bound">("bound");
}

async function readMemberships(db: ReadDb, uid: string): Promise<Memberships> {
  const rows = await db
    .selectFrom("membership")
    .select(["org_uid", "state"])
    .where("identity_uid", "=", uid)
    .where("state", "in", ["joined", "left"])
    .execute();
  const inState = (wanted: string) => new Set(rows.filter(({ state }) => state === wanted).map(({ org_uid }) => org_uid));
  return { joined: inState("joined"), left: inState("left") };
}
