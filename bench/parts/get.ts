/** Measures Get of a resource by uid, with token and authorization, against a limit server and a bare one. */
import { create, toBinary } from "@bufbuild/protobuf";
import { GetIdentityRequestSchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { StoreName } from "../data/stores.ts";
import { compareGrpc, compareRest } from "../limit/compare.ts";
import { getPlan } from "../limit/plans.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serve } from "../servers.ts";

export async function restGet(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const paths = (await someUids(holt)).map((uid) => `/iam/v2/identities/${uid}`);
  const line = await compareRest({
    measured: "REST Get",
    holt,
    plan: getPlan(holt, "identity"),
    targets: { limit: { sqlite: 0.6, postgres: 0.5 }, bare: 0.4 },
    load: { connections: scale.connections, requests: paths.map((path) => holt.request("GET", path)) },
    answer: await holt.fetch("GET", paths[0] ?? ""),
  });
  return [line];
}

export async function grpcGet(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const messages = (await someUids(holt)).map((uid) => {
    return { uid, message: toBinary(GetIdentityRequestSchema, create(GetIdentityRequestSchema, { uid })) };
  });
  const line = await compareGrpc(
    {
      measured: "gRPC Get",
      holt,
      plan: getPlan(holt, "identity"),
      targets: { limit: { sqlite: 0.55, postgres: 0.45 }, bare: 0.4 },
      path: "/platform.iam.v2.IdentitiesService/GetIdentity",
    },
    messages,
  );
  return [line];
}

/** uids of identities from the whole tree. */
export async function someUids({ fetch, contents }: Served): Promise<string[]> {
  const pages = Array.from({ length: 5 }, (_, i) => Math.floor((contents.rows * i) / 10));
  const bodies = await Promise.all(pages.map((skip) => fetch("GET", `/iam/v2/identities?page_size=200&order_by=name&skip=${skip}`)));
  return bodies.flatMap((body) => (JSON.parse(body) as { identities: { uid: string }[] }).identities.map(({ uid }) => uid));
}
