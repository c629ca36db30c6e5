/** Measures the authorization check of a call in this process, with the caller's grants in the cache and without. */
import { create } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GetGroupRequestSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { capabilitySet } from "../../packages/server/src/access/capability-set.ts";
import { authorize } from "../../packages/server/src/api/call/authorize.ts";
import type { Operation } from "../../packages/server/src/api/call/operation.ts";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import type { ReadDb } from "../../packages/server/src/db/store.ts";
import { createGrants } from "../../packages/server/src/iam/grants/grants.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import type { Contents } from "../data/fill.ts";
import { openFilled, type StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";

const CHECKS = 50_000;
const WARM_UP = 5_000;
const COLD_CHECKS = 2_000;
const LIMIT_MS = 0.1;

export async function authorization(store: StoreName): Promise<Line[]> {
  await using checks = await openAuthorization(store, scale.rows);
  const p95Of = async (count: number, cache: Cache) => (await checks.run(count, cache))[Math.floor(count * 0.95)] ?? Number.NaN;
  await p95Of(WARM_UP, "warm");
  const warm = await p95Of(CHECKS, "warm");
  const cold = await p95Of(COLD_CHECKS, "cold");
  const figure = `p95 ${warm.toFixed(4)} ms; ${cold.toFixed(3)} ms with a cold cache`;
  const measured = `Authorization check, ${checks.contents.groups} groups, 20 bindings per identity`;
  return [{ measured, store, figure, target: `p95 ≤ ${LIMIT_MS} ms`, holds: warm <= LIMIT_MS }];
}

type Cache = "warm" | "cold";

export interface AuthorizationChecks extends AsyncDisposable {
  readonly contents: Contents;
  /** @returns the times of the checks in milliseconds, in ascending order */
  run(count: number, cache: Cache): Promise<readonly number[]>;
}

export async function openAuthorization(store: StoreName, rows: number): Promise<AuthorizationChecks> {
  const { target, contents } = await openFilled(store, rows);
  const opened = await openDatabase({ ...target, log: createLog("warn") });
  const grants = createGrants({ store: opened });
  const operation = {
    kind: "Group",
    writes: false,
    access: { mode: "scoped", capabilities: capabilitySet([Capability.CAP_IAM_GROUPS_LIST]), scopeOf: ({ uid }: { uid: string }) => uid },
  } as unknown as Operation;
  const targets = await groupsBelowBindings(contents, opened.reader);
  return {
    contents,
    async run(count, cache) {
      const ms: number[] = [];
      for (let i = 0; i < count; i++) {
        const { identity, uid } = targets[(i * 7919) % targets.length]!;
        const request = create(GetGroupRequestSchema, { uid });
        if (cache === "cold") grants.invalidate([identity]);
        const started = performance.now();
        const { access } = await grants.load(identity);
        await authorize(operation, request, { principal: undefined, access }, opened.reader);
        ms.push(performance.now() - started);
      }
      return ms.toSorted((a, b) => a - b);
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

export interface BoundGroup {
  readonly identity: string;
  readonly uid: string;
}

/** For each binding of an operator, the deepest group below the group of the binding. */
export async function groupsBelowBindings({ operators }: Contents, db: ReadDb): Promise<BoundGroup[]> {
  const found: BoundGroup[] = [];
  for (const identity of operators) {
    const bound = await db.selectFrom("role_binding").select("parent").where("identity_uid", "=", identity).execute();
    for (const { parent } of bound) {
      const row = await db
        .selectFrom("group")
        .select("uid")
        .where("uid", ">=", parent ?? "")
        .where("uid", "<", `${parent}0`)
        .orderBy("uid", "desc")
        .executeTakeFirst();
      if (row !== undefined) found.push({ identity, uid: row.uid });
    }
  }
  return found;
}
