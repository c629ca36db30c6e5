/** Measures Get of a resource by uid, with token and authorization, against a bare server that sends the same bytes. */
import { create, fromJsonString, toBinary } from "@bufbuild/protobuf";
import { GetIdentityRequestSchema, IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { compare, type Figures } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { startBare } from "../process.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serve } from "../servers.ts";

const PATH = "/platform.iam.v2.IdentitiesService/GetIdentity";
/** Few connections with many concurrent calls each, like typical gRPC clients. */
const GRPC_CONNECTIONS = 4;

export async function restGet(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const uids = await someUids(holt);
  const path = (uid: string) => `/iam/v2/identities/${uid}`;
  await using bare = await startBare("http1", Buffer.from(await holt.fetch("GET", path(uids[0] ?? ""))));
  const requests = uids.map((uid) => holt.request("GET", path(uid)));
  const { connections } = scale;
  const figures = await compare("http1", [
    { pid: holt.server.pid, load: { port: holt.server.port, connections, requests } },
    { pid: bare.pid, load: { port: bare.port, connections, requests } },
  ]);
  return [ratioLine("REST Get", store, figures, 0.3)];
}

export async function grpcGet(store: StoreName): Promise<Line[]> {
  const holt = await serve(store);
  const uids = await someUids(holt);
  const identity = fromJsonString(IdentitySchema, await holt.fetch("GET", `/iam/v2/identities/${uids[0]}`));
  const message = Buffer.from(toBinary(IdentitySchema, identity));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  await using bare = await startBare("http2", Buffer.concat([prefix, message]));
  const requests = uids.map((uid) =>
    Buffer.from(toBinary(GetIdentityRequestSchema, create(GetIdentityRequestSchema, { uid }))).toString("base64"),
  );
  const load = {
    connections: GRPC_CONNECTIONS,
    streams: scale.connections / GRPC_CONNECTIONS,
    requests,
    path: PATH,
    token: holt.server.token,
  };
  const figures = await compare("grpc", [
    { pid: holt.server.pid, load: { ...load, port: holt.server.port } },
    { pid: bare.pid, load: { ...load, port: bare.port } },
  ]);
  return [ratioLine("gRPC Get", store, figures, 0.15)];
}

/** @param minRatio target for SQLite only; with PostgreSQL most of the time is spent in the database's process */
export function ratioLine(measured: string, store: StoreName, [holt, bare]: readonly Figures[], minRatio: number): Line {
  if (holt === undefined || bare === undefined) throw new Error("figures are missing");
  const ratio = holt.perSecond / bare.perSecond;
  const cpuRatio = bare.cpuUs / holt.cpuUs;
  const ratios = `ratio ${ratio.toFixed(2)} (by CPU time ${cpuRatio.toFixed(2)})`;
  const figure = `${short(holt.perSecond)}/s, p99 ${short(holt.p99)} ms; bare ${short(bare.perSecond)}/s: ${ratios}`;
  return { measured, store, figure, ...(store === "sqlite" && { target: `≥ ${minRatio} of bare`, holds: ratio >= minRatio }) };
}

/** uids of identities from the whole tree. */
export async function someUids({ fetch, contents }: Served): Promise<string[]> {
  const pages = Array.from({ length: 5 }, (_, i) => Math.floor((contents.rows * i) / 10));
  const bodies = await Promise.all(pages.map((skip) => fetch("GET", `/iam/v2/identities?page_size=200&order_by=name&skip=${skip}`)));
  return bodies.flatMap((body) => (JSON.parse(body) as { identities: { uid: string }[] }).identities.map(({ uid }) => uid));
}
