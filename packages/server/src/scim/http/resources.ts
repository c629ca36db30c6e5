/** Serves `/Users`, `/Groups` and searches. */
import type { ReadDb } from "../../db/store.ts";
import { renderList, renderResource, type SearchRequest } from "../answer.ts";
import type { Directory } from "../directory.ts";
import { createGroup, deleteGroup, findGroup, patchGroup, replaceGroup } from "../groups.ts";
import { etagOf, type ScimRow } from "../resource.ts";
import type { Json } from "../schema.ts";
import { groups, type ResourceStorage, users } from "../storage.ts";
import { createUser, deleteUser, findUser, patchUser, replaceUser } from "../users.ts";
import { answerJson, answerNothing, assertMethod, readJson, type ScimExchange } from "./scim-exchange.ts";
import { parametersOfBody, parametersOfQuery, projectionFrom, searchRequestFrom } from "./search-request.ts";

export interface Endpoint {
  readonly kind: ResourceStorage;
  find(db: ReadDb, idpUid: string, id: string): Promise<ScimRow>;
  create(directory: Directory, body: Json): Promise<ScimRow>;
  replace(directory: Directory, id: string, body: Json, ifMatch: string | undefined): Promise<ScimRow>;
  patch(directory: Directory, id: string, body: Json, ifMatch: string | undefined): Promise<ScimRow>;
  remove(directory: Directory, id: string, ifMatch: string | undefined): Promise<void>;
}

export const endpoints: ReadonlyMap<string, Endpoint> = new Map([
  ["Users", { kind: users, find: findUser, create: createUser, replace: replaceUser, patch: patchUser, remove: deleteUser }],
  ["Groups", { kind: groups, find: findGroup, create: createGroup, replace: replaceGroup, patch: patchGroup, remove: deleteGroup }],
]);

export async function serveAll(exchange: ScimExchange, { kind, create }: Endpoint): Promise<void> {
  assertMethod(exchange, "GET", "POST");
  if (exchange.method === "GET") {
    await answerPage(exchange, [kind], searchRequestFrom(parametersOfQuery(exchange.query)));
    return;
  }
  const row = await create(exchange.directory, await readJson(exchange));
  await answerRow(exchange, kind, row, { status: 201, headers: { location: `${exchange.base}${kind.type.endpoint}/${row.id}` } });
}

export async function serveOne(exchange: ScimExchange, endpoint: Endpoint, id: string): Promise<void> {
  assertMethod(exchange, "GET", "PUT", "PATCH", "DELETE");
  const { method, request, query, directory } = exchange;
  const { kind } = endpoint;
  const ifMatch = request.headers["if-match"];
  switch (method) {
    case "GET":
      return answerRow(exchange, kind, await endpoint.find(directory.store.reader, directory.provider.uid, id));
    case "PUT":
      return answerRow(exchange, kind, await endpoint.replace(directory, id, await readJson(exchange), ifMatch));
    case "DELETE":
      await endpoint.remove(directory, id, ifMatch);
      return answerNothing(exchange);
    default: {
      const row = await endpoint.patch(directory, id, await readJson(exchange), ifMatch);
      // A directory that adds one member to a large group does not need all members in the response (RFC 7644 §3.5.2).
      return kind === groups && !query.has("attributes") ? answerNothing(exchange, { etag: etagOf(row) }) : answerRow(exchange, kind, row);
    }
  }
}

export async function search(exchange: ScimExchange, kinds: readonly ResourceStorage[]): Promise<void> {
  assertMethod(exchange, "POST");
  await answerPage(exchange, kinds, searchRequestFrom(parametersOfBody(await readJson(exchange))));
}

async function answerPage(exchange: ScimExchange, kinds: readonly ResourceStorage[], request: SearchRequest): Promise<void> {
  const { directory, base, scans } = exchange;
  const scope = { store: directory.store, idpUid: directory.provider.uid, base, scans };
  answerJson(exchange, 200, await renderList(kinds, request, scope));
}

interface RowResponse {
  readonly status?: 200 | 201;
  readonly headers?: Record<string, string>;
}

async function answerRow(
  exchange: ScimExchange,
  kind: ResourceStorage,
  row: ScimRow,
  { status = 200, headers = {} }: RowResponse = {},
): Promise<void> {
  const { directory, base, query } = exchange;
  const body = await renderResource(directory.store.reader, kind, row, { base, projection: projectionFrom(parametersOfQuery(query)) });
  answerJson(exchange, status, body, { ...headers, etag: etagOf(row) });
}
