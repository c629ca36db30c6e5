/** Rights end on every server of a fleet, and what began on one server continues on another. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { roundsOf } from "../harness/random.ts";
import { basic, createRegistryClient, digestOf } from "../harness/registry/registry-client.ts";
import { type Fleet, type Member, startFleet } from "../harness/robustness/fleet.ts";
import { createReader } from "../harness/robustness/reader.ts";
import { createVisitor } from "../harness/sign-in/visitor.ts";
import { CLIENT, startUpstream, type UpstreamProvider } from "../harness/upstream-provider.ts";
import { giveTime, until } from "../harness/wait.ts";

/** A server without news of changed rights for this long uses no cached rights. Timers may end a millisecond early. */
const NEWS_LEASE_MS = 1010;
/** The connection over which a server hears of changed rights. */
const LISTENER = "listen holt_access";
const MIB = 1024 * 1024;

describe("a fleet behind a load balancer", () => {
  let fleet: Fleet;
  let upstream: UpstreamProvider;
  before(async () => {
    const port = await freePort();
    upstream = await startUpstream({ redirectUris: [`http://127.0.0.1:${port}/oauth/callback`] });
    const env = { HOLT_LOGIN_ISSUER: upstream.issuer, HOLT_LOGIN_CLIENT_ID: CLIENT.id, HOLT_LOGIN_CLIENT_SECRET: CLIENT.secret };
    fleet = await startFleet({ port, env });
  });
  after(async () => {
    await fleet?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
  });

  for (const loss of ["hears of no change", "is cut off from the database"])
    test(`after a revocation and a second, no server accepts the caller, while one is frozen and one ${loss}`, async () => {
      for (let round = 0; round < roundsOf(1); round++) {
        const group = (await fleet.post(`/iam/v2/groups/${fleet.orgUid}`, { name: `secret-${round} ${loss}` })).uid;
        const { token, binding } = await createReader({ url: fleet.balancer.url, post: fleet.post }, group);
        const [healthy, cut, frozen] = fleet.members as [Member, Member, Member];
        const callers = fleet.members.map(({ url }) => callAgainAndAgain(`${url}/iam/v2/groups/${group}`, token));
        await until(() => callers.every(({ answers }) => answers.has(200)));
        cut.database.accept("silent");
        cut.database.silence(loss === "hears of no change" ? LISTENER : "");
        frozen.server.kill("SIGSTOP");
        const headers = { authorization: `Bearer ${fleet.token}` };
        assert.equal((await fetch(`${healthy.url}/iam/v2/roleBindings/${binding}`, { method: "DELETE", headers })).status, 200);
        await giveTime(NEWS_LEASE_MS);
        for (const caller of callers) caller.restart();
        const isRefused = (server: number) => until(() => callers[server]!.answers.has(403));
        await isRefused(0);
        // The connections of its pools still work.
        if (loss === "hears of no change") await isRefused(1);
        frozen.server.kill("SIGCONT");
        await isRefused(2);
        cut.database.accept("pass");
        await isRefused(1);
        for (const [server, { answers }] of callers.entries()) assert.equal(answers.has(200), false, `server ${server} accepts the caller`);
        await Promise.all(callers.map((caller) => caller.stop()));
      }
    });

  test("page tokens and cursors of one server are valid at the others", async () => {
    const parent = (await fleet.post(`/iam/v2/groups/${fleet.orgUid}`, { name: "listed" })).uid;
    const names = Array.from({ length: 7 }, (_, i) => `child-${i}`);
    for (const name of names) await fleet.post(`/iam/v2/groups/${parent}`, { name });
    const found: string[] = [];
    for (let pageToken = ""; ; ) {
      const query = `uidp.children_of=${parent}&page_size=2&page_token=${encodeURIComponent(pageToken)}`;
      const page = (await read(`/iam/v2/groups?${query}`)) as { groups: { name: string }[]; nextPageToken?: string };
      found.push(...page.groups.map(({ name }) => name));
      pageToken = page.nextPageToken ?? "";
      if (pageToken === "") break;
    }
    assert.deepEqual(found.sort(), names);
  });

  test("an upload whose requests reach one server after the other is stored once and complete", async () => {
    using client = createRegistryClient(fleet.balancer.url, basic("_token", fleet.token));
    const content = randomBytes(20 * MIB);
    const digest = digestOf(content);
    const path = ((await client.send("POST", "my-org/large/blobs/uploads/")).headers.location ?? "").replace(/^.*\/v2\//, "");
    for (let begin = 0; begin < content.length; begin += 7 * MIB) {
      const body = content.subarray(begin, begin + 7 * MIB);
      const headers = { "content-type": "application/octet-stream", "content-range": `${begin}-${begin + body.length - 1}` };
      assert.equal((await client.send("PATCH", path, { headers, body })).status, 202);
    }
    assert.equal((await client.send("PUT", `${path}?digest=${digest}`)).status, 201);
    for (const _ of fleet.members) assert.ok((await client.send("GET", `my-org/large/blobs/${digest}`)).body.equals(content));
  });

  test("a sign-in in a browser passes several servers", async () => {
    // The connection of earlier calls may just have been closed, because it was idle.
    await until(() =>
      read("/ping/v2/ping").then(
        () => true,
        () => false,
      ),
    );
    const visitor = createVisitor(fleet.balancer.url, upstream.issuer);
    const start = `${fleet.balancer.url}/oauth?redirect=${encodeURIComponent("http://localhost:9/")}`;
    const { url } = await visitor.walk(start, "alice");
    await assertWorksEverywhere(new URL(url).searchParams.get("token") ?? "");
  });

  test("a device login passes several servers", async () => {
    const post = async (path: string, form: Record<string, string>) => {
      const answer = await fetch(fleet.balancer.url + path, { method: "POST", body: new URLSearchParams(form) });
      return (await answer.json()) as Record<string, string>;
    };
    const begun = await post("/oauth/device_authorization", { client_id: "holt-cli", scope: "openid" });
    const visitor = createVisitor(fleet.balancer.url, upstream.issuer);
    const page = await visitor.walk(begun.verification_uri_complete ?? "", "bob");
    assert.match((await visitor.submit(page, { answer: "yes" })).text, /You can close this page/);
    const grant = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", client_id: "holt-cli" };
    const { access_token = "", error } = await post("/oauth/token", { ...grant, device_code: begun.device_code ?? "" });
    assert.equal(error, undefined);
    await assertWorksEverywhere(access_token);
  });

  const read = async (path: string): Promise<unknown> => {
    const answer = await fetch(fleet.balancer.url + path, { headers: { authorization: `Bearer ${fleet.token}` } });
    assert.equal(answer.status, 200);
    return answer.json();
  };

  async function assertWorksEverywhere(token: string): Promise<void> {
    for (const { url } of fleet.members) {
      const answer = await fetch(`${url}/iam/v2/groups?uidp.in_root=true`, { headers: { authorization: `Bearer ${token}` } });
      assert.equal(answer.status, 200, await answer.text());
    }
  }
});

/** Sends calls, several at a time. `restart` forgets all answers, and also calls that were sent before. */
function callAgainAndAgain(url: string, token: string) {
  let isOver = false;
  let abort = new AbortController();
  const caller = {
    answers: new Set<number>(),
    restart() {
      abort.abort();
      abort = new AbortController();
      caller.answers = new Set();
    },
    async stop() {
      isOver = true;
      abort.abort();
      await running;
    },
  };
  async function run(): Promise<void> {
    while (!isOver) {
      const { answers } = caller;
      const { signal } = abort;
      try {
        const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal });
        await answer.text();
        answers.add(answer.status);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      await giveTime(5);
    }
  }
  const running = Promise.all([run(), run(), run()]);
  running.catch(() => {});
  return caller;
}
