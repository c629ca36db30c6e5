/** Token sources, against a real server and a stand-in for GitHub's token endpoint. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { startWorld } from "../../server/test/harness/world.ts";
import { createClient, environmentToken, githubActionsToken, HoltError, refreshedToken, tokenOf } from "../src/index.ts";
import { fileToken } from "../src/node.ts";
import { serve } from "./serve.ts";

test("the expiry of a token is read from a JWT, and other tokens have none", () => {
  const payload = Buffer.from(JSON.stringify({ exp: 1_700_000_000 })).toString("base64url");
  assert.deepEqual(tokenOf(`e30.${payload}.x`).expiry, new Date(1_700_000_000_000));
  for (const other of ["", "opaque", "a.b.c", `e30.${Buffer.from("{}").toString("base64url")}.x`]) {
    assert.equal(tokenOf(other).expiry, undefined);
  }
});

test("a token in a file is read again for each use", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holt-client-"));
  await using _cleanUp = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  const path = join(folder, "token");
  const source = fileToken(path);
  await writeFile(path, "first\n");
  assert.equal((await source()).token, "first");
  await writeFile(path, "second\n");
  assert.equal((await source()).token, "second");
});

test("a token in a variable that is missing names the variable", async () => {
  assert.equal((await environmentToken("HOLT_ID_TOKEN", { HOLT_ID_TOKEN: "t" })()).token, "t");
  await assert.rejects(environmentToken("HOLT_ID_TOKEN", {})(), /the environment has no HOLT_ID_TOKEN/);
});

test("a GitHub Actions job asks GitHub for a token of the audience", async () => {
  const asked: string[] = [];
  await using github = await serve((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    response.writeHead(request.headers.authorization === "Bearer right" ? 200 : 401).end(JSON.stringify({ value: "proof" }));
  });
  const url = `${github.baseUrl}/token?api-version=2`;
  const job = (token: string) => ({ ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: token });
  assert.equal((await githubActionsToken("https://holt.example.com", job("right"))()).token, "proof");
  assert.deepEqual(asked, ["/token?api-version=2&audience=https%3A%2F%2Fholt.example.com Bearer right"]);
  await assert.rejects(githubActionsToken("a", job("wrong"))(), /GitHub answered 401/);
  await assert.rejects(githubActionsToken("a", {})(), /id-token: write/);
});

test("a refresh token is exchanged for an access token, and the next one is kept", async () => {
  await using world = await startWorld();
  const user = await world.user("refreshing");
  const pair = await world.must(SecurityTokenService.method.exchange, {}, await world.proofOf("refreshing"));
  let kept = pair.refreshToken;
  const save = async (next: string) => {
    kept = next;
  };
  const store = { load: async () => kept, save };
  const whoAmI = () => createClient({ baseUrl: world.baseUrl, token: refreshedToken(store, world) }).v1.auth.auth.validate({});
  assert.equal((await whoAmI()).subject, user.uid);
  assert.notEqual(kept, pair.refreshToken);
  assert.equal((await whoAmI()).subject, user.uid);
  kept = pair.refreshToken;
  await assert.rejects(whoAmI(), (error: unknown) => error instanceof HoltError && error.code === "UNAUTHENTICATED");
});
