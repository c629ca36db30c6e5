/** Generates fuzz requests: calls of the contract with hostile values and mutations. A request depends only on seed and number. */
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  getOption,
  hasOption,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import { http, services } from "@holt/api";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { createRandom, type Random } from "../random.ts";
import { mangle, mangleBytes, mangleJson, NASTY_TEXTS, nastyText, randomJson, type UidPool } from "./fuzz-values.ts";

export interface RestRequest {
  readonly verb: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface GrpcRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Ingredients {
  /** Tokens of an identity with all rights in one folder, and of one without rights. */
  readonly tokens: readonly string[];
  readonly uids: UidPool;
  /** Uids that must not be deleted, because later requests need them. */
  readonly kept: readonly string[];
  readonly pageTokens: readonly string[];
}

interface Route {
  readonly verb: string;
  readonly pattern: string;
  readonly method: DescMethod;
}

const methods = services.flatMap((service) => service.methods);
const isServed = (method: DescMethod) =>
  /^platform\.(iam\.v2\.(Groups|Identities|Roles|RoleBindings)|auth|oidc|ping)/.test(method.parent.typeName);
const routes: readonly Route[] = methods.flatMap((method) => {
  if (!hasOption(method, http)) return [];
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings].map(({ pattern }) => ({
    verb: (pattern.case ?? "get").toUpperCase(),
    pattern: pattern.value as string,
    method,
  }));
});
const served = routes.filter(({ method }) => isServed(method));
const servedMethods = methods.filter(isServed);

const OTHER_PATHS = [
  "/",
  "/healthz",
  "/readyz",
  "/openapi.json",
  "/docs",
  "/docs/x",
  "/.well-known/jwks.json",
  "/iam",
  "/iam/v2",
  "/iam/v3/groups",
];
const VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH"];

export function restRequest(seed: number, number: number, ingredients: Ingredients): RestRequest {
  const random = createRandom(seed * 7919 + number);
  if (random.oneIn(4)) return goodRequest(random, ingredients);
  const { verb, pattern, method } = random.oneIn(6) ? random.pick(routes) : random.pick(served);
  let path = random.oneIn(40) ? random.pick(OTHER_PATHS) : fillPath(pattern, random, ingredients);
  if (random.oneIn(12)) path = mangle(path, random).replace(/[^!-~]/g, "%E2%82");
  if (random.oneIn(20)) path = path.replace("/v2/", random.pick(["/v2beta1/", "/v1/", "/v9/", "//", "/V2/"]));
  if (!path.startsWith("/")) path = `/${path}`;
  let target = path + (random.oneIn(2) ? `?${queryOf(method, random, ingredients)}` : "");
  // Longer values belong to the test of limits.
  target = target.replace(/[^!-~]/g, "_").slice(0, 15_000);
  if (random.oneIn(60)) target = random.pick([`http://x${target}`, "*", `//x${target}`, `${target}#f`, `${target}?${target}`]);
  const finalVerb = random.oneIn(15) ? random.pick(VERBS) : verb;
  const isDeadly = finalVerb === "DELETE" && ingredients.kept.some((uid) => decodeLoosely(target).includes(uid.slice(-16)));
  const body = bodyOf(method, random, ingredients, finalVerb);
  return { verb: isDeadly ? "GET" : finalVerb, target, headers: headersOf(random, ingredients), body };
}

const LISTS = ["groups", "identities", "roles", "roleBindings"];

/** Valid requests with unusual strings, which create resources for the other requests. */
function goodRequest(random: Random, { tokens, uids }: Ingredients): RestRequest {
  const headers = { host: "h", authorization: `Bearer ${tokens[0]}` };
  const text = random.pick(NASTY_TEXTS);
  const description = text.isWellFormed() && text.length < 4096 ? text : "";
  const name = `folder-${random.below(1000)}`;
  const claimMatch = { issuer: "https://issuer.example.com", subject: name };
  const uid = random.pick(uids);
  const json = (value: object) => Buffer.from(JSON.stringify(value));
  switch (random.below(6)) {
    case 0:
      return { verb: "POST", target: `/iam/v2/groups/${uid}`, headers, body: json({ name, description }) };
    case 1:
      return { verb: "POST", target: `/iam/v2/identities/${uid}`, headers, body: json({ name, description, claimMatch }) };
    case 2:
      return {
        verb: "POST",
        target: `/iam/v2/roles/${uid}`,
        headers,
        body: json({ name, description, capabilities: ["CAP_IAM_GROUPS_LIST"] }),
      };
    case 3:
      return { verb: "PATCH", target: `/iam/v2/groups/${uid}?update_mask=description`, headers, body: json({ description }) };
    case 4:
      return { verb: "GET", target: `/iam/v2/${random.pick(LISTS)}/${uid}`, headers, body: undefined };
    default: {
      const query = `page_size=${1 + random.below(30)}&order_by=${random.pick(["uid", "create_time%20desc"])}&uidp.descendants_of=${uid}&skip=${random.below(5)}`;
      return { verb: "GET", target: `/iam/v2/${random.pick(LISTS)}?${query}`, headers, body: undefined };
    }
  }
}

function decodeLoosely(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))).toLowerCase();
}

function fillPath(pattern: string, random: Random, { uids }: Ingredients): string {
  return pattern.replace(/\{[^}]+\}/g, () =>
    encodeLoosely(random.below(3) > 0 ? mangle(random.pick(uids), random) : nastyText(random, uids), random),
  );
}

/** Percent-encodes correctly, not at all, twice, in lower case or incorrectly. */
function encodeLoosely(text: string, random: Random): string {
  const well = text.isWellFormed()
    ? encodeURIComponent(text)
    : text.replace(/./gsu, (char) => (char.isWellFormed() ? encodeURIComponent(char) : "%ED%A0%80"));
  switch (random.below(8)) {
    case 0:
      return well;
    case 1:
      return encodeURIComponent(well);
    case 2:
      return well.toLowerCase();
    case 3:
      return well.replaceAll("%", random.pick(["%", "%%", "%2"]));
    default:
      return well.replaceAll("%2F", "/");
  }
}

const FIELD_PATHS = [
  "name",
  "description",
  "uid",
  "*",
  "claim_match.issuer",
  "claimMatch",
  "resource_limits",
  "resource_limits.x",
  "kind",
  "verified",
  "",
  ",",
  "a.b.c",
  "capabilities",
  "static_keys.issuer_keys",
  "expiration_time.seconds",
  "__proto__",
  "constructor.name",
];

function queryOf({ input }: DescMethod, random: Random, ingredients: Ingredients): string {
  return Array.from({ length: 1 + random.below(4) }, () => parameter(input, random, ingredients)).join("&");
}

/** Names of the fields behind the forms 0 to 5 of a parameter. */
const COMMON_PARAMETERS = ["page_token", "page_size", "skip", "order_by", "update_mask", "uidp"];

function parameter(input: DescMessage, random: Random, { uids, pageTokens }: Ingredients): string {
  const encode = (text: string) => encodeLoosely(text, random);
  // Unknown parameters are refused before anything else is tried, so most requests have none.
  const isKnown = (name: string) => random.oneIn(16) || input.fields.some((field) => field.name === name);
  const form = random.below(10);
  switch (isKnown(COMMON_PARAMETERS[form] ?? "") ? form : 9) {
    case 0:
      return `page_token=${encode(mangle(random.pick(pageTokens), random))}`;
    case 1:
      return `pageSize=${encode(random.pick(["0", "1", "3", "-1", "201", "1.5", "1e3", "2147483648", "x", "", " 1", "+1", "0x1", "9".repeat(30)]))}`;
    case 2:
      return `skip=${encode(random.pick(["0", "1", "-1", "1000000", "2147483647", "2147483648", "1e1", "NaN", ""]))}`;
    case 3:
      return `order_by=${encode(random.pick(["name", "uid desc", "create_time asc", "createTime DESC", "rank", "x", "name,uid", "name desc x", "body", "parent", "rowid", " ", "__proto__"]))}`;
    case 4:
      return `${random.pick(["update_mask", "updateMask"])}=${encode(Array.from({ length: 1 + random.below(3) }, () => random.pick(FIELD_PATHS)).join(","))}`;
    case 5: {
      const field = random.pick(["descendants_of", "childrenOf", "ancestors_of", "in_root", "ids", "x"]);
      return `uidp.${field}=${encode(field === "in_root" ? random.pick(["true", "1", "maybe", ""]) : mangle(random.pick(uids), random))}`;
    }
    default: {
      if (input.fields.length === 0) return "";
      const field: DescField = random.pick(input.fields);
      const inner = field.message !== undefined && field.message.fields.length > 0 ? `.${random.pick(field.message.fields).name}` : "";
      const name = random.oneIn(8) ? nastyText(random, uids) : `${random.oneIn(2) ? field.name : field.jsonName}${inner}`;
      return random.oneIn(10) ? encode(name) : `${encode(name)}=${encode(nastyText(random, uids))}`;
    }
  }
}

function bodyOf({ input }: DescMethod, random: Random, { uids }: Ingredients, verb: string): Buffer | undefined {
  if ((verb === "GET" || verb === "HEAD" || verb === "DELETE") && random.below(8) > 0) return undefined;
  if (random.oneIn(10)) return undefined;
  const resource = input.fields.find((field) => field.fieldKind === "message" && field.message.fields.some(({ name }) => name === "uid"));
  const json = randomJson(resource?.message !== undefined && random.below(5) > 0 ? resource.message : input, random, uids);
  const text = Buffer.from(mangleJson(JSON.stringify(json), random), "utf8");
  return random.oneIn(12) ? mangleBytes(text, random) : text;
}

function headersOf(random: Random, ingredients: Ingredients): Record<string, string> {
  const headers: Record<string, string> = { host: "h" };
  const authorization = authorizationOf(random, ingredients);
  if (authorization !== undefined) headers.authorization = authorization;
  if (random.oneIn(4))
    headers["content-type"] = random.pick([
      "application/json",
      "application/x-www-form-urlencoded",
      "text/plain",
      "application/json; charset=utf-16",
      "multipart/form-data; boundary=x",
      ";",
      "application/xml",
    ]);
  if (random.oneIn(20)) headers.cgrequestid = visible(random.pick(NASTY_TEXTS));
  if (random.oneIn(20)) headers["x-request-id"] = visible("x".repeat(random.below(3000)));
  if (random.oneIn(20)) headers["user-agent"] = visible(random.pick(NASTY_TEXTS));
  if (random.oneIn(30)) headers.cgclientid = visible(random.pick(NASTY_TEXTS));
  if (random.oneIn(40)) headers.expect = random.pick(["100-continue", "something-else"]);
  if (random.oneIn(40)) headers["accept-encoding"] = random.pick(["gzip", "br;q=0", "*", "nonsense"]);
  if (random.oneIn(40)) headers["content-encoding"] = random.pick(["gzip", "identity", "br"]);
  if (random.oneIn(60)) headers["x-forwarded-for"] = "127.0.0.1";
  if (random.oneIn(60)) headers["x-http-method-override"] = "DELETE";
  return headers;
}

/** Removes what a header cannot contain. */
function visible(text: string): string {
  return text.replace(/[^ -~]/g, "?").trim();
}

const INNER = [
  '{"alg":"none"}',
  '{"alg":"HS256","typ":"JWT"}',
  '{"alg":"RS256","kid":"x"}',
  '{"alg":"RS256","alg":"none"}',
  '{"alg":"RS256","crit":["x"]}',
  '{"alg":5}',
  "[]",
  "null",
  "{",
  '{"alg":"RS256","typ":"logout+jwt"}',
  '{"iss":"x","sub":"y","exp":99999999999}',
];

function authorizationOf(random: Random, { tokens }: Ingredients): string | undefined {
  const token = random.below(12) > 0 ? (tokens[0] ?? "") : random.pick(tokens);
  if (random.below(10) > 0) return `Bearer ${token}`;
  const parts = token.split(".");
  const encode = (text: string) => Buffer.from(text).toString("base64url");
  switch (random.below(12)) {
    case 0:
      return undefined;
    case 1:
      return random.pick([
        "Bearer",
        "Bearer ",
        "bearer  x",
        "Basic dXNlcjpwYXNz",
        "Bearer null",
        "Bearer a.b.c",
        "Bearer ..",
        `bearer\t${token}`,
        "x".repeat(9000),
      ]);
    case 2:
      return `Bearer ${visible(mangle(token, random))}`;
    case 3:
      return `Bearer ${encode(random.pick(INNER))}.${parts[1]}.${parts[2]}`;
    case 4:
      return `Bearer ${parts[0]}.${encode(random.pick(INNER))}.${parts[2]}`;
    case 5:
      return `Bearer ${parts[0]}.${parts[1]}.`;
    case 6:
      return `Bearer ${parts[0]}.${parts[1]}.${encode("signature")}`;
    case 7:
      return `Bearer ${token}${random.pick(["=", ".", "A", " ", ",x", "\u007e"])}`;
    case 8: {
      const at = random.below(token.length);
      return `Bearer ${token.slice(0, at)}${random.pick(["A", "-", "_", ".", "="])}${token.slice(at + 1)}`;
    }
    case 9:
      return `Bearer ${parts[1]}.${parts[0]}.${parts[2]}`;
    case 10:
      return `BEARER ${token}`;
    default:
      return `Bearer ${encode('{"alg":"RS256","kid":"x"}')}.${encode(`{"iss":"https://issuer.example.com","sub":"${"s".repeat(random.below(300))}"}`)}.${encode("x".repeat(256))}`;
  }
}

const GRPC_TYPES = [
  "application/grpc",
  "application/grpc+proto",
  "application/grpc+json",
  "application/grpc-web",
  "application/grpc-web+proto",
  "application/grpc-web-text",
  "application/proto",
  "application/json",
  "application/connect+proto",
  "application/grpc+xml",
  "application/grpc;x=y",
  "text/plain",
];

export function grpcRequest(seed: number, number: number, ingredients: Ingredients): GrpcRequest {
  const random = createRandom(seed * 104_729 + number);
  if (random.oneIn(4)) return goodGrpcRequest(random, ingredients);
  const method = random.oneIn(6) ? random.pick(methods) : random.pick(servedMethods);
  const isDelete = method.name.startsWith("Delete");
  let path = `/${method.parent.typeName}/${method.name}`;
  if (random.oneIn(30)) path = visible(mangle(path, random)).replaceAll(" ", "_") || "/";
  const authorization = authorizationOf(random, ingredients);
  const type = random.oneIn(8) ? random.pick(GRPC_TYPES) : "application/grpc";
  const headers: Record<string, string> = {
    ":method": random.oneIn(40) ? random.pick(["GET", "PUT", "DELETE"]) : "POST",
    ":path": path.startsWith("/") ? path : `/${path}`,
    "content-type": type,
    te: "trailers",
    ...(authorization === undefined ? {} : { authorization }),
  };
  if (random.oneIn(15)) headers["grpc-timeout"] = random.pick(["1n", "10S", "99999999H", "1", "x", "-1S", "100000000S", "0S", "5m"]);
  if (random.oneIn(20)) headers["grpc-encoding"] = random.pick(["gzip", "identity", "snappy", "deflate"]);
  if (random.oneIn(30)) headers["connect-protocol-version"] = random.pick(["1", "2"]);
  if (random.oneIn(30)) headers["connect-timeout-ms"] = random.pick(["1", "x", "999999999999", "-5"]);
  if (random.oneIn(30)) headers["x-bin"] = visible(random.pick(NASTY_TEXTS));
  // Deletes are not mutated, so that they delete only their target, which is never a kept uid.
  const pool = isDelete ? { ...ingredients, uids: ingredients.uids.filter((uid) => !ingredients.kept.includes(uid)) } : ingredients;
  const message = toBinary(method.input, randomMessage(method.input, random, pool));
  const bytes = isDelete ? Buffer.from(message) : mangleBytes(message, random);
  return { headers, body: frame(bytes, random) };
}

function goodGrpcRequest(random: Random, { tokens, uids }: Ingredients): GrpcRequest {
  const uid = random.pick(uids);
  const requests: [DescMethod, object][] = [
    [GroupsService.method.listGroups, { pageSize: 1 + random.below(30), uidp: { descendantsOf: uid }, skip: random.below(5) }],
    [GroupsService.method.getGroup, { uid }],
    [GroupsService.method.createGroup, { parent: uid, group: { name: `folder-${random.below(1000)}` } }],
    [IdentitiesService.method.listIdentities, { orderBy: "name desc", uidp: { childrenOf: uid } }],
    [RolesService.method.listRoles, { pageSize: 5, name: random.pick(NASTY_TEXTS) }],
  ];
  const [{ input, parent, name }, init] = random.pick(requests);
  const message = toBinary(input, create(input, init as never));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return {
    headers: {
      ":method": "POST",
      ":path": `/${parent.typeName}/${name}`,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${tokens[0]}`,
    },
    body: Buffer.concat([prefix, message]),
  };
}

/** Encodes the same JSON as over REST, as far as possible. */
function randomMessage(schema: DescMessage, random: Random, { uids }: Ingredients): Message {
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      return fromJson(schema, randomJson(schema, random, uids), { ignoreUnknownFields: true });
    } catch {
      // The library cannot encode this value.
    }
  }
  return create(schema);
}

function frame(message: Buffer, random: Random): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  if (random.below(6) > 0) return Buffer.concat([prefix, message]);
  switch (random.below(9)) {
    case 0:
      prefix.writeUInt32BE(random.pick([0, 1, message.length + 1, message.length + 1000, 0x7fff_ffff, 0xffff_ffff]), 1);
      return Buffer.concat([prefix, message]);
    case 1:
      prefix[0] = 1;
      return Buffer.concat([prefix, message]);
    case 2:
      prefix[0] = random.below(256);
      return Buffer.concat([prefix, message]);
    case 3:
      return Buffer.concat([prefix, message, prefix, message]);
    case 4:
      return prefix.subarray(0, random.below(6));
    case 5:
      return message;
    case 6:
      return Buffer.alloc(0);
    case 7:
      return Buffer.from(Array.from({ length: random.below(60) }, () => random.below(256)));
    default:
      return Buffer.concat([prefix, message]).subarray(0, random.below(message.length + 5));
  }
}
