/** Requests with NUL and malformed input, for every operation of the contract and every other protocol. */
import { create, type DescField, type DescMessage, type JsonObject, type JsonValue, type Message, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import type { World } from "../world.ts";

/** An HTTP request by its parts. `{group}`, `{uid}` and `{scim}` in the path stand for what exists in the world. */
export interface MalformedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const NUL = "a\0b";

/** A message whose strings all contain NUL, down to the given depth. */
export function messageOfNul(schema: DescMessage, depth = 3): Message {
  const init: Record<string, unknown> = {};
  for (const field of schema.fields) {
    if (field.oneof === undefined) init[field.localName] = nulIn(field, depth);
  }
  for (const { localName, fields } of schema.oneofs) {
    const member = fields.find((field) => nulIn(field, depth) !== undefined);
    if (member !== undefined) init[localName] = { case: member.localName, value: nulIn(member, depth) };
  }
  return create(schema, init as never);
}

function nulIn(field: DescField, depth: number): unknown {
  const value = elementOfNul(field, depth);
  if (value === undefined) return undefined;
  if (field.fieldKind === "list") return [value];
  if (field.fieldKind === "map") return { [field.mapKey === ScalarType.STRING ? NUL : "1"]: value };
  return value;
}

function elementOfNul(field: DescField, depth: number): unknown {
  if (field.message !== undefined) {
    if (isWrapperDesc(field.message)) return field.message.fields[0].scalar === ScalarType.STRING ? NUL : undefined;
    return depth === 0 || field.message.typeName.startsWith("google.protobuf.") ? undefined : messageOfNul(field.message, depth - 1);
  }
  return field.scalar === ScalarType.STRING ? NUL : undefined;
}

/** A message for each string field at the top level, in which only that field has a value. */
export function messagesWithOneNul(schema: DescMessage): Message[] {
  const fields = schema.fields.filter((field) => field.fieldKind === "scalar" && field.scalar === ScalarType.STRING);
  return fields.map(({ localName, oneof }) =>
    create(schema, (oneof === undefined ? { [localName]: NUL } : { [oneof.localName]: { case: localName, value: NUL } }) as never),
  );
}

/** Copies of the JSON; in each, another string has NUL at its end. */
export function* withNulInEachString(json: JsonObject): Generator<JsonObject> {
  for (const path of pathsOfStrings(json)) {
    const copy = structuredClone(json);
    let holder = copy as Record<string, JsonValue>;
    for (const key of path.slice(0, -1)) holder = holder[key] as Record<string, JsonValue>;
    holder[path.at(-1)!] += "\0";
    yield copy;
  }
}

function pathsOfStrings(value: JsonValue, path: readonly string[] = []): string[][] {
  if (typeof value === "string") return [[...path]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => pathsOfStrings(below as JsonValue, [...path, key]));
}

const ODD = ["%00", "a%00b", "%", "%zz", "%ff%fe", "%ed%a0%80", "..%2f..", "%0a", "a".repeat(300)];
const DIGEST = `sha256:${"0".repeat(64)}`;
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const SCIM = { "content-type": "application/scim+json", authorization: "Bearer {scimToken}" };
const UPLOAD = { "content-type": "multipart/form-data; boundary=b" };

/** Everything that is not an operation of the contract: the registry, `/token`, libraries, SCIM, feeds and sign-in. */
export function protocolRequests(): MalformedRequest[] {
  return [...ODD.flatMap(requestsWith), ...BODIES];
}

function requestsWith(odd: string): MalformedRequest[] {
  const get = (path: string, headers: MalformedRequest["headers"] = {}) => ({ method: "GET", path, headers });
  return [
    get(`/v2/${odd}/tags/list`),
    get(`/v2/my-org/app/tags/list?n=1&last=${odd}`),
    get(`/v2/my-org/app/tags/list?n=${odd}`),
    get(`/v2/my-org/${odd}/manifests/1.0`),
    get(`/v2/my-org/app/manifests/${odd}`),
    get(`/v2/my-org/app/blobs/${odd}`),
    get(`/v2/my-org/app/blobs/uploads/${odd}`),
    get(`/v2/my-org/app/referrers/${DIGEST}?artifactType=${odd}`),
    get(`/v2/_catalog?last=${odd}`),
    { method: "POST", path: `/v2/my-org/${odd}/blobs/uploads/` },
    { method: "POST", path: `/v2/my-org/app/blobs/uploads/?mount=${DIGEST}&from=${odd}` },
    { method: "POST", path: `/v2/my-org/app/blobs/uploads/?digest=${odd}` },
    { method: "DELETE", path: `/v2/my-org/app/manifests/${odd}` },
    get(`/token?service=${odd}&scope=repository:my-org/app:pull`),
    get(`/token?scope=${odd}`),
    get(`/token?scope=repository:${odd}:pull&account=${odd}`),
    { method: "POST", path: "/token", headers: FORM, body: `grant_type=refresh_token&service=x&refresh_token=${odd}&scope=${odd}` },
    get(`/libraries/python/${odd}/simple/demo/`),
    get(`/libraries/python/{group}/simple/${odd}/`),
    get(`/libraries/python/{group}/files/${"0".repeat(64)}/${odd}`),
    get(`/libraries/java/${odd}/com/example/a/1/a-1.jar`),
    get(`/libraries/java/{group}/com/${odd}/a/1/a-1.pom`),
    { method: "PUT", path: `/libraries/java/{group}/com/example/${odd}/1/${odd}-1.pom`, body: "<project/>" },
    get(`/scim/v2/${odd}/Users`, SCIM),
    get(`/scim/v2/{scim}/Users/${odd}`, SCIM),
    get(`/scim/v2/{scim}/Users?filter=userName%20eq%20%22${odd}%22`, SCIM),
    get(`/scim/v2/{scim}/Groups?filter=displayName%20co%20%22${odd}%22`, SCIM),
    get(`/scim/v2/{scim}/Groups/${odd}`, SCIM),
    get(`/advisories/v2/feeds/${odd}`),
    get(`/oauth?${odd}=x&idp_id=${odd}&redirect=${odd}&client_id=${odd}&audience=${odd}`),
    get(`/oauth?state=${odd}&code=${odd}&redirect=http%3A%2F%2Flocalhost%3A1%2F`),
    get(`/oauth/callback?state=${odd}&code=${odd}`),
    get(`/oauth/${odd}`),
    get(`/orgcheck?org=${odd}&email=${odd}`),
    { method: "POST", path: "/oauth/device/code", headers: FORM, body: `client_id=${odd}&scope=${odd}` },
    { method: "POST", path: "/oauth/token", headers: FORM, body: `grant_type=${odd}&device_code=${odd}&refresh_token=${odd}` },
    get(`/docs/${odd}`),
    get(`/iam/v2/groups/${odd}`),
    get(`/iam/v2/groups?name=${odd}&page_token=${odd}&order_by=${odd}`),
    get(`/registry/v2/repos?uidp.descendants_of=${odd}`),
  ];
}

const manifest = (fields: object) => ({
  method: "PUT",
  path: "/v2/my-org/app/manifests/nul",
  headers: { "content-type": "application/vnd.oci.image.index.v1+json" },
  body: JSON.stringify({ schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [], ...fields }),
});
const child = { mediaType: "application/vnd.oci.image.manifest.v1+json", digest: DIGEST, size: 1 };
const scim = (method: string, path: string, body: unknown) => ({
  method,
  path: `/scim/v2/{scim}${path}`,
  headers: SCIM,
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const USER = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName: NUL };
const part = (name: string, value: string) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

const BODIES: readonly MalformedRequest[] = [
  manifest({ annotations: { [NUL]: "x" } }),
  manifest({ annotations: { x: NUL } }),
  manifest({ artifactType: NUL }),
  manifest({ subject: { ...child, mediaType: NUL } }),
  manifest({ manifests: [{ ...child, platform: { os: NUL, architecture: "amd64" } }] }),
  manifest({ mediaType: NUL }),
  { ...manifest({}), body: "\0" },
  { ...manifest({}), body: "" },
  { ...manifest({}), body: '{"schemaVersion":2' },
  { ...manifest({}), body: "[".repeat(5000) },
  scim("POST", "/Users", USER),
  scim("POST", "/Users", { ...USER, userName: "nul", externalId: NUL, name: { givenName: NUL }, emails: [{ value: NUL }] }),
  scim("POST", "/Groups", { schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"], displayName: NUL, members: [{ value: NUL }] }),
  scim("PATCH", "/Users/none", { Operations: [{ op: "replace", path: NUL, value: NUL }] }),
  scim("POST", "/Users", "{"),
  scim("POST", "/Users", "\0"),
  scim("POST", "/.search", { filter: NUL }),
  scim("POST", "/Bulk", { Operations: [{ method: "POST", path: NUL, data: USER }] }),
  {
    method: "POST",
    path: "/libraries/python/{group}/",
    headers: UPLOAD,
    body: `${part(":action", "file_upload")}${part("name", NUL)}${part("version", NUL)}--b--\r\n`,
  },
  { method: "POST", path: "/libraries/python/{group}/", headers: UPLOAD, body: "--b\r\n\0" },
  { method: "POST", path: "/sts/exchange", headers: FORM, body: "token=%00&identity=%00&aud=%00" },
  { method: "GET", path: "/v2/", headers: { authorization: "Basic AA==" } },
  { method: "GET", path: "/v2/", headers: { authorization: `Basic ${Buffer.from("a\0:b\0").toString("base64")}` } },
  { method: "GET", path: "/iam/v2/groups", headers: { authorization: "Bearer a.b.c" } },
  { method: "POST", path: "/iam/v2/groups/{uid}", body: '{"name":"a\\u0000b"}' },
  { method: "POST", path: "/iam/v2/groups/{uid}", body: '{"name":"x","description":"a\\u0000b"}' },
  { method: "POST", path: "/iam/v2/groups/{uid}", body: "\0" },
];

/** Replaces the placeholders of a request. */
export function placed({ path, headers = {}, ...request }: MalformedRequest, places: Readonly<Record<string, string>>): MalformedRequest {
  const place = (text: string) => text.replace(/\{(\w+)\}/g, (all, name: string) => places[name] ?? all);
  return { ...request, path: place(path), headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, place(text)])) };
}

/** Sends the request over HTTP/1.1, as the owner unless it has credentials of its own. */
export async function sendMalformed(
  world: World,
  { method, path, headers = {}, body }: MalformedRequest,
): Promise<{ status: number; text: string }> {
  const authorization = path.startsWith("/libraries")
    ? `Basic ${Buffer.from(`_token:${world.token}`).toString("base64")}`
    : `Bearer ${world.token}`;
  return world.http(method, path, body, { authorization, ...headers });
}
