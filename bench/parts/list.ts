/**
 * Measures the first page of a long list by name, against a limit server and a bare one, and against the same list of a
 * small database.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { UIDPFilterSchema } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import { ListIdentitiesRequestSchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { compare } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { compareGrpc, compareRest } from "../limit/compare.ts";
import { listPlan, rowsByName } from "../limit/plans.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serve } from "../servers.ts";

const PAGE_SIZE = 50;
const MAX_GROWTH = 1.5;

export async function restList(store: StoreName): Promise<Line[]> {
  const many = await serve(store);
  const few = await serve(store, scale.fewRows);
  const { connections } = scale;
  const requestsTo = (holt: Served) => [holt.request("GET", pathOf(holt))];
  const answer = await many.fetch("GET", pathOf(many));
  const line = await compareRest({
    measured: `REST List of ${PAGE_SIZE} by name below the root`,
    holt: many,
    plan: planOf(many, answer),
    targets: { limit: { sqlite: 0.6, postgres: 0.5 }, bare: 0.2 },
    load: { connections, requests: requestsTo(many) },
    answer,
  });
  const contenders = [many, few].map((holt) => {
    return { pid: holt.server.pid, load: { port: holt.server.port, connections, requests: requestsTo(holt) } };
  });
  const [large, small] = (await compare("http1", contenders)).map(({ p99 }) => p99) as [number, number];
  const figure = `${short(large)} ms and ${short(small)} ms: ${(large / small).toFixed(2)}×`;
  const measured = `List p99 compared with ${scale.fewRows} rows`;
  return [line, { measured, store, figure, target: `≤ ${MAX_GROWTH}×`, holds: large <= MAX_GROWTH * small }];
}

export async function grpcList(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const uidp = create(UIDPFilterSchema, { descendantsOf: holt.contents.organization });
  const request = create(ListIdentitiesRequestSchema, { uidp, orderBy: "name", pageSize: PAGE_SIZE });
  const line = await compareGrpc(
    {
      measured: `gRPC List of ${PAGE_SIZE} by name below the root`,
      holt,
      plan: planOf(holt, await holt.fetch("GET", pathOf(holt))),
      targets: { limit: { sqlite: 0.45, postgres: 0.4 } },
      path: "/platform.iam.v2.IdentitiesService/ListIdentities",
    },
    [{ uid: "", message: toBinary(ListIdentitiesRequestSchema, request) }],
  );
  return [line];
}

export function pathOf({ contents }: Served): string {
  return `/iam/v2/identities?uidp.descendants_of=${contents.organization}&order_by=name&page_size=${PAGE_SIZE}`;
}

function planOf(holt: Served, answer: string) {
  return listPlan(holt, rowsByName(holt.name, "identity", holt.contents.organization), PAGE_SIZE, answer);
}
