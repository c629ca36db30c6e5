/** No request crashes the server, makes it hang or makes it disclose internals. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import pino from "pino";
import { NO_ACCESS } from "../../src/access/capabilities.ts";
import { createApp } from "../../src/app.ts";
import { ownerToken } from "../../src/cli/commands.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { readConfig } from "../../src/config.ts";
import type { Store } from "../../src/db/store.ts";
import { builtInRoles } from "../../src/iam/grants/built-in-roles.ts";
import { createAccessTokens } from "../../src/iam/tokens/access-token.ts";
import { createAudienceList } from "../../src/iam/tokens/audience.ts";
import { createSigningKeys } from "../../src/iam/tokens/signing-keys.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { isUid } from "../../src/lib/uid.ts";
import { freePort } from "../harness/free-port.ts";
import { createRandom, seedOf } from "../harness/random.ts";
import { nearlyHttp1, nearlyHttp2 } from "../harness/robustness/fuzz-bytes.ts";
import {
  callGrpc,
  describeRest,
  type GrpcAnswer,
  openSession,
  parseAnswer,
  pipeline,
  type RestAnswer,
  sendBytes,
} from "../harness/robustness/fuzz-clients.ts";
import { type GrpcRequest, grpcRequest, type Ingredients, type RestRequest, restRequest } from "../harness/robustness/fuzz-requests.ts";
import { PATIENCE_MS } from "../harness/wait.ts";

const SEED = seedOf(1);
const REST_REQUESTS = 60_000;
const GRPC_REQUESTS = 40_000;
const HTTP1_BYTES = 3_000;
const HTTP2_BYTES = 2_000;

interface World extends AsyncDisposable {
  readonly port: number;
  readonly baseUrl: string;
  readonly owner: string;
  readonly home: string;
  readonly ingredients: Ingredients;
  readonly store: Store;
  /** Log lines of level warning and above. */
  readonly complaints: string[];
  readonly outside: string;
}

const TABLES = ["group", "identity", "role", "role_binding"] as const;

async function createWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "holt-fuzz-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const config = readConfig({ HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_DATA_DIR: dataDir });
  const complaints: string[] = [];
  // Node writes its warnings to the same stream as the log.
  const onWarning = (warning: Error) => void complaints.push(String(warning));
  process.on("warning", onWarning);
  stack.defer(() => void process.off("warning", onWarning));
  // Fuzzed names of operations are not served, which the log says.
  const keep = (line: string) => void (/ that this server does not serve"/.test(line) || complaints.push(line));
  const log = pino({ level: "warn" }, { write: keep });
  const app = stack.use(await createApp(config, log));
  const store = stack.use(await openDatabase({ url: "", dataDir, log }));
  const { baseUrl } = config;
  const owner = await ownerToken(config);
  const post = async (path: string, body: object): Promise<string> => {
    const answer = await fetch(baseUrl + path, {
      method: "POST",
      headers: { authorization: `Bearer ${owner}` },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    return ((await answer.json()) as { uid: string }).uid;
  };
  const { groups } = (await (
    await fetch(`${baseUrl}/iam/v2/groups?uidp.in_root=true`, { headers: { authorization: `Bearer ${owner}` } })
  ).json()) as { groups: { uid: string }[] };
  const orgUid = groups[0]?.uid ?? "";
  const roleUid = (name: string) => builtInRoles.find((role) => role.name === name)?.uid ?? "";
  const identity = (parent: string, name: string) =>
    post(`/iam/v2/identities/${parent}`, { name, claimMatch: { issuer: "https://issuer.example.com", subject: name } });

  const home = await post(`/iam/v2/groups/${orgUid}`, { name: "home" });
  const outsider = await post(`/iam/v2/groups/${orgUid}`, { name: "outside" });
  const actor = await identity(home, "actor");
  const nobody = await identity(home, "nobody");
  await post(`/iam/v2/roleBindings/${home}`, { identityUid: actor, roleUid: roleUid("owner") });
  const uids = [
    home,
    home,
    home,
    orgUid,
    outsider,
    actor,
    nobody,
    roleUid("viewer"),
    roleUid("owner"),
    "0".repeat(40),
    `${home}/${"0".repeat(16)}`,
  ];
  for (let i = 0; i < 12; i++) {
    const folder = await post(`/iam/v2/groups/${home}`, { name: `folder-${i}` });
    const who = await identity(folder, `identity-${i}`);
    const role = await post(`/iam/v2/roles/${folder}`, { name: `role-${i}`, capabilities: ["CAP_IAM_GROUPS_LIST"] });
    uids.push(folder, who, role, await post(`/iam/v2/roleBindings/${folder}`, { identityUid: who, roleUid: roleUid("viewer") }));
  }
  const keys = await createSigningKeys({ store, clock: systemClock, log });
  const accessTokens = createAccessTokens({ issuer: baseUrl, keys, clock: systemClock, audiences: createAudienceList([baseUrl]) });
  const mint = async (uid: string) => {
    const content = {
      uid,
      actor: { iss: baseUrl, sub: uid, aud: baseUrl },
      audience: [baseUrl],
      email: undefined,
      emailVerified: false,
      upstream: {},
      scopes: undefined,
      capabilities: undefined,
      access: NO_ACCESS,
      lifetimeSeconds: 3600,
    };
    return (await accessTokens.mint(content, new Date())).token;
  };
  const token = await mint(actor);
  const pageTokens: string[] = [];
  for (const list of ["groups?page_size=1", "groups?page_size=2&order_by=name", "identities?page_size=3", "roles?page_size=1"]) {
    const answer = await fetch(`${baseUrl}/iam/v2/${list}`, { headers: { authorization: `Bearer ${token}` } });
    pageTokens.push(((await answer.json()) as { nextPageToken: string }).nextPageToken);
  }
  for (const pageToken of pageTokens) assert.match(pageToken, /^[\w-]{20,}$/);
  const outside = await outsideOf(store, home);
  const owned = stack.move();
  return {
    port: app.port,
    baseUrl,
    owner,
    home,
    ingredients: { tokens: [token, await mint(nobody)], uids, kept: [home, actor], pageTokens },
    store,
    complaints,
    outside,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Reads all rows of the database outside of this group. */
async function outsideOf(store: Store, home: string): Promise<string> {
  const all = await Promise.all(TABLES.map((table) => store.reader.selectFrom(table).selectAll().orderBy("uid").execute()));
  return JSON.stringify(all.map((rows) => rows.filter(({ uid }) => !uid.startsWith(`${home}/`) && uid !== home)));
}

/** Patterns of internals that no answer may contain. */
const LEAK =
  /\n\s+at |\.[jt]s:\d|node:|node_modules|sqlite|select .+ from|constraint|TypeError|RangeError|Cannot read|is not a function|undefined/i;

const HTTP_OF: Readonly<Record<number, number>> = { 3: 400, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 16: 401 };

/** Statuses of refusals before the request is parsed, which have no error body. */
const BY_TRANSPORT = [400, 405, 413, 414, 415, 417, 431];

function assertSound(request: RestRequest, { status, headers, text }: RestAnswer): void {
  const context = () => `${describeRest(request)}\n→ ${status} ${JSON.stringify(headers)} ${text.slice(0, 2000)}`;
  const path = request.target.split("?", 1)[0] ?? "";
  if (!/^(http:\/\/x)?\/(docs|openapi\.json)/.test(path)) assert.doesNotMatch(text, LEAK, context());
  if (status === 200 || status === 304) return;
  if (text === "" && (request.verb === "HEAD" || BY_TRANSPORT.includes(status))) return;
  if (headers["content-type"] !== "application/json") {
    assert.ok(BY_TRANSPORT.includes(status) || /^(\/docs|\/\.well-known)/.test(path), context());
    return;
  }
  const error = JSON.parse(text) as { code: number | string; message: string; details?: unknown[] };
  if (typeof error.code === "string") {
    assertConnectError(error.code, status, context);
    return;
  }
  assert.deepEqual(Object.keys(error), ["code", "message", "details"], context());
  assert.ok(Array.isArray(error.details) && error.message !== "", context());
  const isByTransport = BY_TRANSPORT.includes(status) && [Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED].includes(error.code as never);
  if (status === 405) {
    assert.ok(error.code === Code.UNIMPLEMENTED && headers.allow !== undefined, context());
    return;
  }
  assert.ok(HTTP_OF[error.code] === status || isByTransport, context());
}

/** Codes by their names in the Connect protocol. */
function assertConnectError(code: string, status: number, context: () => string): void {
  assert.ok(!["internal", "unknown", "data_loss", "unavailable", "canceled"].includes(code) && status < 502 && status !== 500, context());
}

const UNREADABLE =
  /^parse binary: |"code":"internal","message":"parse binary: |parse%20binary%3A%20|do(?: |%20)not(?: |%20)know(?: |%20)how(?: |%20)to(?: |%20)decompress/;

const GRPC_CODES = ["0", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "16"];

function assertSoundGrpc(request: GrpcRequest, answer: GrpcAnswer): void {
  const context = () =>
    `${JSON.stringify(request.headers)} ${request.body.toString("hex").slice(0, 2000)}\n→ ${JSON.stringify({ ...answer, text: answer.text.slice(0, 500) })}`;
  const message = decodeURIComponent(String(answer.headers["grpc-message"] ?? ""));
  assert.doesNotMatch(`${message}\n${answer.text}`, LEAK, context());
  assert.ok(answer.reset === 0, context());
  // The Connect library answers this for bytes that are not the message, like other gRPC libraries. Native gRPC is more precise.
  const isNative =
    /^application\/grpc(\+proto)?$/.test(request.headers["content-type"] ?? "") &&
    request.headers[":method"] === "POST" &&
    !request.headers[":path"]?.includes("?");
  if (!isNative && UNREADABLE.test(`${message}${answer.text}`)) return;
  if (answer.status !== undefined) {
    assert.equal(answer.httpStatus, 200, context());
    assert.ok(GRPC_CODES.includes(answer.status), context());
    return;
  }
  // The answer is Connect, REST or a refusal of the content type.
  if (request.headers["content-type"]?.startsWith("application/grpc") && answer.httpStatus === 200)
    assert.ok(request.headers[":method"] !== "POST", context());
  assert.ok(
    answer.httpStatus === 200 || (answer.httpStatus >= 400 && answer.httpStatus < 500) || [501, 504].includes(answer.httpStatus),
    context(),
  );
  if (answer.httpStatus === 504) assert.match(JSON.stringify(request.headers), /timeout/, context());
}

function* numbered<T>(count: number, make: (number: number) => T): Generator<T> {
  for (let number = 0; number < count; number++) yield make(number);
}

function tally(t: TestContext, counts: Map<string, number>): void {
  t.diagnostic(
    [...counts]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([key, n]) => `${key}: ${n}`)
      .join(", "),
  );
}

describe("fuzzing of a server", () => {
  let world: World;
  before(async () => {
    world = await createWorld();
  });
  after(() => world[Symbol.asyncDispose]());

  test("REST answers random requests as documented and never with an internal error", async (t) => {
    t.diagnostic(`seed ${SEED}`);
    const { port, ingredients } = world;
    const counts = new Map<string, number>();
    const requests = numbered(REST_REQUESTS, (number) => restRequest(SEED, number, ingredients));
    const connections = Array.from({ length: 24 }, () =>
      pipeline(port, requests, 16, (request, answer) => {
        counts.set(String(answer.status), (counts.get(String(answer.status)) ?? 0) + 1);
        assertSound(request, answer);
      }),
    );
    await Promise.all(connections);
    tally(t, counts);
    assert.equal(
      [...counts.values()].reduce((sum, n) => sum + n, 0),
      REST_REQUESTS,
    );
    // Fuzzing proves little if the first check refuses every request.
    for (const status of ["200", "400", "401", "403", "404", "405"]) assert.ok((counts.get(status) ?? 0) > 20, `too few ${status}`);
    assert.ok((counts.get("200") ?? 0) > REST_REQUESTS / 10);
  });

  test("gRPC answers random calls with documented codes and never with an internal error", async (t) => {
    const { port, ingredients } = world;
    const counts = new Map<string, number>();
    const calls = numbered(GRPC_REQUESTS, (number) => grpcRequest(SEED, number, ingredients));
    const connections = Array.from({ length: 4 }, async () => {
      const session = openSession(port);
      const streams = Array.from({ length: 32 }, async () => {
        for (const request of calls) {
          const answer = await callGrpc(session, request);
          const key = answer.status === undefined ? `HTTP ${answer.httpStatus}` : answer.status;
          counts.set(key, (counts.get(key) ?? 0) + 1);
          assertSoundGrpc(request, answer);
        }
      });
      await Promise.all(streams).finally(() => session.destroy());
    });
    await Promise.all(connections);
    tally(t, counts);
    assert.equal(
      [...counts.values()].reduce((sum, n) => sum + n, 0),
      GRPC_REQUESTS,
    );
    for (const status of ["0", "3", "5", "7", "12", "16"]) assert.ok((counts.get(status) ?? 0) > 20, `too few ${status}`);
    assert.ok((counts.get("0") ?? 0) > GRPC_REQUESTS / 10);
  });

  test("malformed HTTP is refused or answered, and connections of departed clients are closed", async (t) => {
    const { port, ingredients } = world;
    const counts = new Map<string, number>();
    const works = [
      ...numbered(HTTP1_BYTES, (number) => async () => {
        const bytes = nearlyHttp1(SEED, number, ingredients);
        const answer = await sendBytes(port, bytes);
        assert.doesNotMatch(answer.toString("latin1"), LEAK, bytes.toString("latin1"));
        const statuses = [...answer.toString("latin1").matchAll(/(?:^|\n)HTTP\/1\.1 (\d{3}) /g)].map((match) => match[1] ?? "");
        counts.set(statuses[0] ?? "closed", (counts.get(statuses[0] ?? "closed") ?? 0) + 1);
        for (const status of statuses)
          assert.ok(status < "500" || status === "501", `${bytes.toString("latin1")}\n→ ${answer.toString("latin1")}`);
        if (answer.length > 0) parseAnswer(answer, bytes.toString("latin1").startsWith("HEAD") ? "HEAD" : "GET");
      }),
      ...numbered(HTTP2_BYTES, (number) => async () => {
        const answer = await sendBytes(port, nearlyHttp2(SEED, number));
        counts.set("HTTP/2", (counts.get("HTTP/2") ?? 0) + 1);
        assert.doesNotMatch(answer.toString("latin1"), LEAK);
      }),
    ];
    const queue = works.values();
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        for (const work of queue) await work();
      }),
    );
    tally(t, counts);
    assert.ok((counts.get("400") ?? 0) > 100);
  });

  test("a body is refused as soon as it is too large, whatever length it announces", async () => {
    const { port, ingredients } = world;
    const head = `POST /iam/v2/groups/${ingredients.uids[0]} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${ingredients.tokens[0]}\r\n`;
    const large = "x".repeat(5 << 20);
    const claims = await sendBytes(port, Buffer.from(`${head}content-length: 99999999999\r\n\r\n`));
    assert.match(claims.toString("latin1"), /^HTTP\/1\.1 413 /);
    const chunked = await sendBytes(
      port,
      Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`),
    );
    assert.match(chunked.toString("latin1"), /^HTTP\/1\.1 413 /);
    const session = openSession(port);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(large.length, 1);
    const headers = {
      ...grpcRequest(SEED, 0, ingredients).headers,
      ":path": "/platform.iam.v2.GroupsService/CreateGroup",
      ":method": "POST",
      "content-type": "application/grpc",
    };
    const { status } = await callGrpc(session, { headers, body: Buffer.concat([prefix, Buffer.from(large)]) });
    session.destroy();
    assert.equal(status, String(Code.RESOURCE_EXHAUSTED));
  });

  test("a pipelined request with Expect gets its 100 Continue between answers, not within one", async () => {
    const { port, ingredients } = world;
    const authorization = `authorization: Bearer ${ingredients.tokens[0]}\r\n`;
    const body = '{"name":"asked-for"}';
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const untilText = async (isEnough: () => boolean) => {
      while (!isEnough()) text += String((await once(socket, "data", { signal: AbortSignal.timeout(PATIENCE_MS) }))[0]);
    };
    socket.write(
      `GET /openapi.json HTTP/1.1\r\nhost: h\r\n\r\nPOST /iam/v2/groups/${ingredients.uids[0]} HTTP/1.1\r\nhost: h\r\n${authorization}content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
    );
    await untilText(() => text.endsWith("HTTP/1.1 100 Continue\r\n\r\n"));
    assert.match(text, /\}HTTP\/1\.1 100 Continue/);
    socket.write(body);
    await untilText(() => text.includes('"name":"asked-for"'));
    socket.destroy();
  });

  test("the server works after fuzzing, with right counts and no changes outside the caller's folder", async () => {
    const { baseUrl, owner, home, store, complaints, outside } = world;
    assert.deepEqual(complaints, []);
    const listed = await fetch(`${baseUrl}/iam/v2/groups?page_size=200`, { headers: { authorization: `Bearer ${owner}` } });
    assert.equal(listed.status, 200);
    assert.equal((await fetch(`${baseUrl}/readyz`)).status, 200);
    assert.equal(await outsideOf(store, home), outside);
    let created = 0;
    for (const table of TABLES) {
      const rows = await store.reader.selectFrom(table).select(["uid", "parent", "name", "body"]).execute();
      const groups = new Set((await store.reader.selectFrom("group").select("uid").execute()).map(({ uid }) => uid));
      for (const { uid, parent, name, body } of rows) {
        assert.ok(isUid(uid), uid);
        assert.ok(parent === null || (groups.has(parent) && uid === `${parent}/${uid.slice(-16)}`), uid);
        const { uid: inBody, name: nameInBody = "" } = JSON.parse(body) as { uid: string; name?: string };
        assert.deepEqual([inBody, nameInBody], [uid, name]);
        if (table !== "role_binding" && parent !== null) assert.match(name, /^[a-z0-9 ._-]{1,255}$/);
      }
      created += rows.length;
      const counted = await store.reader.selectFrom("resource_count").selectAll().where("kind", "=", table).execute();
      for (const { group_uid, below, direct } of counted) {
        const isBelow = (uid: string) => group_uid === "/" || uid.startsWith(`${group_uid}/`);
        assert.equal(below, rows.filter(({ uid }) => isBelow(uid)).length, `${table} below ${group_uid}`);
        assert.equal(direct, rows.filter(({ parent }) => (parent ?? "/") === group_uid).length, `${table} in ${group_uid}`);
      }
    }
    assert.ok(created > 500, "too few resources were created: the requests were too far from valid ones");
  });

  test("the same seed generates the same requests", () => {
    const { ingredients } = world;
    const some = (seed: number) =>
      Array.from({ length: 50 }, (_, i) => [restRequest(seed, i, ingredients), grpcRequest(seed, i, ingredients)]);
    assert.deepEqual(some(SEED), some(SEED));
    assert.notDeepEqual(some(SEED), some(SEED + 1));
    assert.notEqual(createRandom(1).below(1e9), createRandom(2).below(1e9));
  });
});
