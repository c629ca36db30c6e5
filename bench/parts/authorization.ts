/** One authorization check, in this process: may this identity do that there? With the rights remembered, as they are for whoever called before, and without. */
import { create } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GetGroupRequestSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { capabilitySet } from "../../packages/server/src/access/capability-set.ts";
import { authorize } from "../../packages/server/src/api/call/authorize.ts";
import type { Operation } from "../../packages/server/src/api/call/operation.ts";
import { openStore } from "../../packages/server/src/db/open.ts";
import { createGrants } from "../../packages/server/src/iam/grants/grants.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { openFilled, type StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";

const CHECKS = 50_000;
const WARM_UP = 5_000;
const COLD_CHECKS = 2_000;
const LIMIT_MS = 0.1;

export async function authorization(store: StoreName): Promise<Line[]> {
  const { target, contents } = await openFilled(store, scale.rows);
  await using opened = await openStore({ ...target, log: createLog("warn") });
  const grants = createGrants({ store: opened });
  const operation = {
    kind: "Group",
    writes: false,
    access: { mode: "scoped", capabilities: capabilitySet([Capability.CAP_IAM_GROUPS_LIST]), scopeOf: ({ uid }: { uid: string }) => uid },
  } as unknown as Operation;

  const places = await boundPlaces();
  const times = async (checks: number, before: (identity: string) => void) => {
    const ms: number[] = [];
    for (let i = 0; i < checks; i++) {
      const { identity, uid } = places[(i * 7919) % places.length]!;
      const request = create(GetGroupRequestSchema, { uid });
      before(identity);
      const started = performance.now();
      const { access } = await grants.load(identity);
      await authorize(operation, request, { principal: undefined, access }, opened.reader);
      ms.push(performance.now() - started);
    }
    return ms.toSorted((a, b) => a - b)[Math.floor(checks * 0.95)] ?? Number.NaN;
  };

  /** Groups at the greatest depths below those where an operator is bound. */
  async function boundPlaces(): Promise<{ identity: string; uid: string }[]> {
    const found: { identity: string; uid: string }[] = [];
    for (const identity of contents.operators) {
      const bound = await opened.reader.selectFrom("role_binding").select("parent").where("identity_uid", "=", identity).execute();
      for (const { parent } of bound) {
        const row = await opened.reader
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

  await times(WARM_UP, () => {});
  const warm = await times(CHECKS, () => {});
  const cold = await times(COLD_CHECKS, (identity) => grants.invalidate([identity]));
  const figure = `p95 ${warm.toFixed(4)} ms; ${cold.toFixed(3)} ms where the rights must be read first`;
  const what = `Authorization check, ${contents.groups} groups, 20 bindings each`;
  return [{ what, store, figure, target: `p95 ≤ ${LIMIT_MS} ms`, holds: warm <= LIMIT_MS }];
}
