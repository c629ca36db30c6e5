/** Signing in with a code, against a server that is not always there. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createRest } from "@holt/client/rest";
import { signInOnDevice } from "../src/login/device.ts";

test("a sign-in with a code goes on while the server does not answer", async () => {
  const asked: string[] = [];
  const answers: Readonly<Record<string, readonly [status: number, body: object][]>> = {
    "/oauth/device_authorization": [[200, { device_code: "d", user_code: "u", expires_in: 60, interval: 0.001 }]],
    "/oauth/token": [
      [503, {}],
      [400, { error: "authorization_pending" }],
      [200, { id_token: "proof" }],
    ],
    "/sts/exchange": [[200, { token: "access", refreshToken: "refresh" }]],
  };
  const server = createServer((request, response) => {
    const { url = "" } = request;
    const count = asked.filter((path) => path === url).length;
    asked.push(url);
    const [status, body] = answers[url]?.[count] ?? [404, {}];
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await using _server = { [Symbol.asyncDispose]: async () => void server.close() };
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = { organization: undefined, invite: undefined, rest: createRest({ baseUrl }), signal: new AbortController().signal };
  assert.deepEqual(await signInOnDevice(options), { token: "access", refreshToken: "refresh" });
  assert.equal(asked.filter((path) => path === "/oauth/token").length, 3);
});
