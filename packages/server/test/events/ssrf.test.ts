/** No spelling, name or redirect of a sink makes Holt open a socket to a network that the operator did not allow. */
import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { createOutboundClient, type OutboundClient, type OutboundOptions } from "../../src/outbound/client.ts";
import { OutboundError, type OutboundReason } from "../../src/outbound/error.ts";
import { type ConnectAttempts, watchConnectAttempts } from "../harness/events/connect-attempts.ts";
import { deniedAddresses, deniedHosts, malformedHosts, publicAddresses } from "../harness/events/denied-hosts.ts";
import { startServer } from "../harness/harness.ts";
import { PATIENCE_MS, until } from "../harness/wait.ts";

type Resolve = NonNullable<OutboundOptions["resolve"]>;

/** A listener that counts all connections to this machine. */
interface Trap extends AsyncDisposable {
  readonly port: number;
  readonly visits: number;
  forget(): void;
}

async function startTrap(): Promise<Trap> {
  let visits = 0;
  const servers: Server[] = [];
  const listen = (host: string, port: number) =>
    new Promise<number>((resolve, reject) => {
      const server = createServer((socket) => {
        visits++;
        socket.destroy();
      });
      server.once("error", reject).listen(port, host, () => resolve((server.address() as AddressInfo).port));
      servers.push(server);
    });
  const port = await listen("0.0.0.0", 0);
  // Not every machine has IPv6.
  await listen("::1", port).catch(() => {});
  return {
    port,
    get visits() {
      return visits;
    },
    forget() {
      visits = 0;
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answering(...answers: (readonly string[])[]): Resolve & { readonly asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (hostname, _options, callback) => {
    asked.push(hostname);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    const addresses = (answer ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    setImmediate(() => callback(null, addresses));
  };
  return Object.assign(resolve, { asked });
}

describe("an outbound request", () => {
  let attempts: ConnectAttempts;
  let trap: Trap;
  before(async () => {
    trap = await startTrap();
    attempts = await watchConnectAttempts();
  });
  afterEach(() => {
    attempts.forget();
    const { visits } = trap;
    trap.forget();
    assert.equal(visits, 0);
  });
  after(async () => {
    attempts[Symbol.dispose]();
    await trap[Symbol.asyncDispose]();
  });

  async function assertRefused(client: OutboundClient, url: string, ...reasons: OutboundReason[]): Promise<void> {
    attempts.forget();
    const error = await client.request({ url, method: "POST", body: "{}", timeoutMs: PATIENCE_MS }).then(
      () => assert.fail(`${url} was answered`),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof OutboundError, `${url}: ${error}`);
    assert.ok(reasons.includes(error.reason), `${url}: ${error.reason}`);
    assert.deepEqual(attempts.addresses, [], url);
  }

  it("the list of denied hosts has at least 150 entries", () => {
    const hosts = Object.values(deniedHosts).flat();
    assert.equal(new Set(hosts).size, hosts.length);
    assert.ok(hosts.length >= 150, `${hosts.length}`);
  });

  for (const [what, hosts] of Object.entries(deniedHosts)) {
    it(`an outbound request opens no socket to a denied host (${what})`, async () => {
      // A hostile resolver: every name resolves to this machine.
      await using client = createOutboundClient({ allowCidrs: [], resolve: answering(["127.0.0.1", "::1"]) });
      for (const host of hosts) {
        await assertRefused(client, `https://${host}:${trap.port}/`, "address");
        await assertRefused(client, `http://${host}:${trap.port}/`, "scheme");
      }
    });

    it(`allowing a network opens no socket to another denied host (${what})`, async () => {
      await using client = createOutboundClient({ allowCidrs: ["10.99.0.0/16", "fd99::/64"], resolve: answering(["127.0.0.1", "::1"]) });
      for (const host of hosts) {
        for (const scheme of ["https", "http"]) await assertRefused(client, `${scheme}://${host}:${trap.port}/`, "address");
      }
    });
  }

  it("an outbound request opens no socket for a malformed or disguised host", async () => {
    await using client = createOutboundClient({ allowCidrs: ["10.99.0.0/16"], resolve: answering(["127.0.0.1"]) });
    for (const host of malformedHosts) {
      for (const scheme of ["https", "http"]) await assertRefused(client, `${scheme}://${host}:${trap.port}/`, "url", "address");
    }
    for (const url of [
      "https:///127.0.0.1",
      "https:127.0.0.1",
      "https:\\\\127.0.0.1\\",
      "//127.0.0.1/",
      "127.0.0.1",
      "file://127.0.0.1/",
      "gopher://1.1.1.1/",
    ])
      await assertRefused(client, url, "url", "address", "scheme");
  });

  it("an outbound request opens no socket to a name with a denied address over any scheme", async () => {
    for (const address of deniedAddresses) {
      await using client = createOutboundClient({ allowCidrs: ["10.99.0.0/16"], resolve: answering([address]) });
      for (const scheme of ["https", "http"]) await assertRefused(client, `${scheme}://hooks.test:${trap.port}/`, "address");
    }
  });

  it("an outbound request opens no socket to a name whose addresses are all denied or missing", async () => {
    await using many = createOutboundClient({ allowCidrs: [], resolve: answering(deniedAddresses) });
    await assertRefused(many, `https://hooks.test:${trap.port}/`, "address");
    await using none = createOutboundClient({ allowCidrs: [], resolve: answering([]) });
    await assertRefused(none, `https://hooks.test:${trap.port}/`, "address", "dns");
  });

  it("an outbound request reaches a public address, given directly or by a name", async () => {
    await using literal = createOutboundClient({ allowCidrs: [] });
    for (const address of publicAddresses) {
      const host = address.includes(":") ? `[${address}]` : address;
      await assertConnects(literal, `https://${host}/`, [address]);
      await using named = createOutboundClient({ allowCidrs: [], resolve: answering([address]) });
      await assertConnects(named, "https://hooks.test/", [address]);
    }
  });

  it("an outbound request reaches a public address over http only if the operator allows it", async () => {
    await using named = createOutboundClient({ allowCidrs: ["1.1.1.0/24"] });
    await assertConnects(named, "http://1.1.1.1/", ["1.1.1.1"]);
    await assertRefused(named, "http://8.8.8.8/", "address");
  });

  it("an outbound request uses only the public addresses of a name", async () => {
    for (const answer of [
      ["1.1.1.1", "127.0.0.1"],
      ["127.0.0.1", "1.1.1.1", "10.0.0.1", "8.8.8.8"],
      ["::1", "fd00::1", "2606:4700:4700::1111", "::ffff:1.1.1.1"],
      ["169.254.169.254", "64:ff9b::1.1.1.1", "2400:cb00::1", "140.82.112.3"],
    ]) {
      await using client = createOutboundClient({ allowCidrs: [], resolve: answering(answer) });
      const allowed = answer.filter((address) => publicAddresses.includes(address));
      await assertConnects(client, `https://mixed.test:${trap.port}/`, allowed);
    }
  });

  it("an outbound request connects to the address that it checked, so DNS rebinding fails", async () => {
    const resolve = answering(["1.1.1.1"], ["127.0.0.1"], ["1.1.1.1", "::1"], ["::1"]);
    await using client = createOutboundClient({ allowCidrs: [], resolve });
    const url = `https://rebinding.test:${trap.port}/`;
    await assertConnects(client, url, ["1.1.1.1"]);
    await assertRefused(client, url, "address");
    await assertConnects(client, url, ["1.1.1.1"]);
    await assertRefused(client, url, "address");
    assert.equal(resolve.asked.length, 4);
  });

  it("an outbound request follows no redirect", async () => {
    let location = "";
    let status = 302;
    let asked = 0;
    const server = createHttpServer((_request, response) => {
      asked++;
      response.writeHead(status, { location, refresh: `0; url=${location}`, "alt-svc": `h2="127.0.0.2:${trap.port}"` }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const client = createOutboundClient({ allowCidrs: ["127.0.0.1/32"] });
    try {
      for (status of [301, 302, 303, 307, 308]) {
        for (const to of ["127.0.0.2", "[::1]", "169.254.169.254", "10.0.0.1", "1.1.1.1"]) {
          location = `http://${to}:${trap.port}/`;
          attempts.forget();
          await assert.rejects(client.request({ url, method: "POST", body: "{}" }), { reason: "redirect" });
          assert.deepEqual(new Set(attempts.addresses), new Set(attempts.addresses.length > 0 ? ["127.0.0.1"] : []));
        }
      }
      assert.equal(asked, 25);
    } finally {
      await client[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  /** Asserts that the request is admitted; the watched socket then refuses the connection. */
  async function assertConnects(client: OutboundClient, url: string, addresses: readonly string[]): Promise<void> {
    attempts.forget();
    await assert.rejects(client.request({ url, timeoutMs: PATIENCE_MS }), { reason: "connect" }, url);
    assert.deepEqual(attempts.addresses.toSorted(), addresses.toSorted(), url);
  }
});

describe("a delivery", () => {
  it("a delivery to a denied address fails with that reason and opens no socket", async () => {
    await using trap = await startTrap();
    using attempts = await watchConnectAttempts();
    // Another network is allowed, so that http is not refused at once.
    const env = { HOLT_OUTBOUND_ALLOW_CIDRS: "10.99.0.0/16", HOLT_WEBHOOK_BACKOFF: "1h" };
    await using server = await startServer({ env });
    let accepted = 0;
    for (const host of [...Object.values(deniedHosts).flat(), ...malformedHosts]) {
      for (const scheme of ["https", "http"]) {
        const sink = `${scheme}://${host}:${trap.port}/hook`;
        // The resolver of this machine must not receive queries for real names.
        if (URL.canParse(sink) && !/^\d+(\.\d+){3}$|^\[|^localhost$/.test(new URL(sink).hostname)) continue;
        const group = await server.http("POST", `/iam/v2/groups/${server.orgUid}`, '{"name":"folder"}');
        const { uid } = JSON.parse(group.text) as { uid: string };
        const { status } = await server.http("POST", `/events/v2/subscriptions/${uid}`, JSON.stringify({ sink }));
        assert.ok(status === 200 || status === 400, `${sink}: ${status}`);
        if (status === 200) accepted++;
      }
    }
    assert.ok(accepted >= 150, `${accepted}`);
    const tried = () => server.store.reader.selectFrom("delivery").selectAll().where("attempts", ">=", 1).execute();
    await until(async () => (await tried()).length >= accepted);
    for (const { state, status_code, error } of await tried()) {
      assert.deepEqual([state, status_code], ["pending", 0]);
      assert.match(error, /has no address that this server may connect to/);
    }
    assert.equal(trap.visits, 0);
    assert.deepEqual(
      attempts.all.filter(({ port }) => port !== server.port),
      [],
    );
  });
});
