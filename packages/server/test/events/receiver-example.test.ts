import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { startServer } from "../harness/harness.ts";
import { until } from "../harness/wait.ts";

const GUIDE = new URL("../../../../docs/events.md", import.meta.url);

it("the receiver of the guide accepts deliveries and refuses forged ones", async () => {
  const [, code = ""] = /```js\n(.*?)```/s.exec(await readFile(GUIDE, "utf8")) ?? [];
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "holt-receiver-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "receiver.mjs"), code);
  const server = stack.use(await startServer({ env: { HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" } }));
  const port = await freePort();
  const env = { ...process.env, API: server.baseUrl, ORG: server.orgUid, PORT: String(port) };
  const receiver = spawn(process.execPath, [join(folder, "receiver.mjs")], { env, stdio: ["ignore", "pipe", "inherit"] });
  stack.defer(async () => {
    receiver.kill("SIGKILL");
    await once(receiver, "exit");
  });
  const lines: string[] = [];
  createInterface(receiver.stdout).on("line", (line) => void lines.push(line));
  await until(() => lines.some((line) => line === `listening on ${port}`));

  // A proxy records the requests.
  const kept: { headers: IncomingMessage["headers"]; body: string }[] = [];
  const statuses: number[] = [];
  const between = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    kept.push({ headers: request.headers, body });
    const status = await post(port, request.headers, body);
    statuses.push(status);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
  stack.defer(() => {
    between.closeAllConnections();
    between.close();
  });
  const sink = `http://127.0.0.1:${(between.address() as AddressInfo).port}/`;
  const answer = await server.http("POST", `/events/v2/subscriptions/${server.orgUid}`, JSON.stringify({ sink }));
  const { uid } = JSON.parse(answer.text) as { uid: string };
  const test = await server.http("POST", `/holt/v1/subscriptions/${uid}:test`);
  assert.equal(test.status, 200, test.text);
  await until(() => statuses.length === 2);
  assert.deepEqual(statuses, [204, 204]);
  await until(() => lines.length > 2);
  assert.ok(
    lines.some((line) => line.startsWith(`dev.holt.holt.test.v1 ${uid} `)),
    lines.join("\n"),
  );

  const [first] = kept;
  assert.ok(first);
  const { authorization = "" } = first.headers;
  const [header, payload, signature = ""] = authorization.split(".");
  const forged = `${header}.${payload}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
  const printed = lines.length;
  assert.equal(await post(port, first.headers, `${first.body} `), 403);
  for (const token of ["", "Bearer x", forged, `Bearer ${server.token}`])
    assert.equal(await post(port, { ...first.headers, authorization: token }, first.body), 403);
  // A repeated delivery is accepted and ignored.
  assert.equal(await post(port, first.headers, first.body), 204);
  assert.equal(lines.length, printed);
});

async function post(port: number, { authorization = "", ...headers }: IncomingMessage["headers"], body: string): Promise<number> {
  const attributes = Object.entries(headers).filter(([name]) => name.startsWith("ce-")) as [string, string][];
  const answer = await fetch(`http://127.0.0.1:${port}/`, {
    method: "POST",
    body,
    headers: [...attributes, ["authorization", authorization]],
  });
  return answer.status;
}
