import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createOutboundClient, type OutboundClient, type OutboundOptions } from "./client.ts";
import { OutboundError, type OutboundReason } from "./error.ts";

const LOOPBACK = ["127.0.0.0/8", "::1"];

async function withServer(listener: RequestListener, run: (port: number, server: Server) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  try {
    await run((server.address() as AddressInfo).port, server);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

async function withClient(options: Partial<OutboundOptions>, run: (client: OutboundClient) => Promise<void>): Promise<void> {
  await using client = createOutboundClient({ allowCidrs: LOOPBACK, ...options });
  await run(client);
}

function failsWith(reason: OutboundReason): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof OutboundError, String(error));
    assert.equal(error.reason, reason, error.message);
    return true;
  };
}

const json: RequestListener = (_request, response) => void response.setHeader("content-type", "application/json").end('{"ok":true}');

test("a loopback issuer over http works by address and by name if the operator allows loopback", async () => {
  await withServer(json, (port) =>
    withClient({}, async (client) => {
      assert.deepEqual(await client.fetchJson(`http://127.0.0.1:${port}/`), { ok: true });
      assert.deepEqual(await client.fetchJson(`http://localhost:${port}/`), { ok: true });
    }),
  );
});

test("private addresses are refused in every spelling unless the operator allows them", async () => {
  let hits = 0;
  const count: RequestListener = (request, response) => {
    hits++;
    json(request, response);
  };
  await withServer(count, (port) =>
    withClient({ allowCidrs: [] }, async (client) => {
      const hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.1",
        "017700000001",
        "127.0.0.1.",
        "１２７.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:0:0:1]",
        "0",
        "169.254.169.254",
      ];
      for (const host of hosts) await assert.rejects(client.fetchJson(`https://${host}:${port}/`), failsWith("address"), host);
      await assert.rejects(client.fetchJson(`http://127.0.0.1:${port}/`), failsWith("scheme"));
    }),
  );
  assert.equal(hits, 0);
});

test("plain http is limited to the ranges that the operator allows", async () => {
  await withClient({ allowCidrs: ["10.0.0.0/8"] }, async (client) => {
    await assert.rejects(client.fetchJson("http://127.0.0.1:1/"), failsWith("address"));
    await assert.rejects(client.fetchJson("http://8.8.8.8/"), failsWith("address"));
  });
});

test("a name is checked by its addresses each time it is resolved", async () => {
  const answers = [["10.0.0.7"], ["169.254.169.254", "::1"], ["10.0.0.7", "127.0.0.1"]];
  const resolve: NonNullable<OutboundOptions["resolve"]> = (_host, _options, callback) =>
    callback(
      null,
      (answers.shift() ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  await withServer(json, (port) =>
    withClient({ allowCidrs: ["127.0.0.1"], resolve }, async (client) => {
      await assert.rejects(client.fetchJson(`http://issuer.test:${port}/`), failsWith("address"));
      await assert.rejects(client.fetchJson(`http://issuer.test:${port}/`), failsWith("address"));
      assert.deepEqual(await client.fetchJson(`http://issuer.test:${port}/`), { ok: true });
    }),
  );
});

test("the client rejects URLs with credentials, other schemes and malformed URLs", async () => {
  await withClient({}, async (client) => {
    for (const url of ["https://user@127.0.0.1/", "https://user:pass@127.0.0.1/", "nonsense", "", `https://x/${"a".repeat(3000)}`])
      await assert.rejects(client.fetchJson(url), failsWith("url"), url);
    for (const url of ["ftp://127.0.0.1/", "file:///etc/passwd", "data:application/json,{}", "unix:///var/run/x"])
      await assert.rejects(client.fetchJson(url), failsWith("scheme"), url);
  });
});

test("redirects, other statuses and bodies that are not JSON cause errors that do not quote the answer", async () => {
  const listener: RequestListener = (request, response) => {
    if (request.url === "/redirect") response.writeHead(302, { location: "http://127.0.0.1:1/secret" }).end("secret");
    else if (request.url === "/status") response.writeHead(503).end("secret");
    else response.end("secret");
  };
  await withServer(listener, (port) =>
    withClient({}, async (client) => {
      for (const [path, reason] of [
        ["redirect", "redirect"],
        ["status", "status"],
        ["body", "body"],
      ] as const) {
        const error = await client.fetchJson(`http://127.0.0.1:${port}/${path}`).then(
          () => assert.fail(),
          (thrown: OutboundError) => thrown,
        );
        assert.equal(error.reason, reason);
        assert.ok(!`${error.message}${error.stack}${String(error.cause)}`.includes("secret"));
        assert.equal(error.isTransient, path === "status");
      }
    }),
  );
});

test("an answer beyond the size limit is refused, whether its size is announced or not", async () => {
  const big = Buffer.alloc(64 * 1024, 32);
  const listener: RequestListener = (request, response) => {
    if (request.url === "/announced") response.setHeader("content-length", big.length * 32);
    for (let i = 0; i < 32; i++) response.write(big);
    response.end();
  };
  await withServer(listener, (port) =>
    withClient({}, async (client) => {
      for (const path of ["announced", "chunked"])
        await assert.rejects(client.fetchJson(`http://127.0.0.1:${port}/${path}`), failsWith("too_large"));
      await assert.rejects(client.request({ url: `http://127.0.0.1:${port}/`, maxBytes: 1000 }), failsWith("too_large"));
    }),
  );
});

test("the time limit applies to a silent server and to a trickling body", async () => {
  const listener: RequestListener = (request, response) => {
    if (request.url === "/silent") return;
    response.flushHeaders();
    const timer = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(timer));
  };
  await withServer(listener, (port) =>
    withClient({}, async (client) => {
      for (const path of ["silent", "trickle"]) {
        await assert.rejects(client.fetchJson(`http://127.0.0.1:${port}/${path}`, { timeoutMs: 150 }), failsWith("timeout"));
      }
    }),
  );
});

test("a caller can abort before and during a request", async () => {
  await withServer(
    () => {},
    (port) =>
      withClient({}, async (client) => {
        await assert.rejects(client.fetchJson(`http://127.0.0.1:${port}/`, { signal: AbortSignal.abort() }), failsWith("aborted"));
        await assert.rejects(client.fetchJson(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(50) }), failsWith("aborted"));
      }),
  );
});

test("an unreachable host and an unknown name are transient errors", async () => {
  const resolve: NonNullable<OutboundOptions["resolve"]> = (_host, _options, callback) => callback(new Error("ENOTFOUND"), []);
  await withClient({ resolve }, async (client) => {
    await assert.rejects(client.fetchJson("http://127.0.0.1:1/"), failsWith("connect"));
    const error = await client.fetchJson("https://issuer.test/").then(
      () => assert.fail(),
      (thrown: OutboundError) => thrown,
    );
    assert.equal(error.reason, "dns");
    assert.ok(error.isTransient);
  });
});

test("a request can have a method, headers and a body, and returns any status", async () => {
  const listener: RequestListener = async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    response.writeHead(418, { "x-seen": `${request.method} ${request.headers["x-a"]} ${request.headers.host}` }).end(body);
  };
  await withServer(listener, (port) =>
    withClient({}, async (client) => {
      const answer = await client.request({
        url: `http://127.0.0.1:${port}/`,
        method: "POST",
        headers: { "x-a": "b", host: "other.test" },
        body: "hello",
      });
      assert.equal(answer.status, 418);
      assert.equal(answer.headers["x-seen"], "POST b other.test");
      assert.equal(answer.body.toString(), "hello");
    }),
  );
});

test("a request has one User-Agent header, and that of the caller wins", async () => {
  const names: string[][] = [];
  const listener: RequestListener = ({ rawHeaders }, response) => {
    names.push(rawHeaders.filter((_, i) => rawHeaders[i - 1]?.toLowerCase() === "user-agent"));
    response.end();
  };
  await withServer(listener, (port) =>
    withClient({}, async (client) => {
      const url = `http://127.0.0.1:${port}/`;
      for (const headers of [{}, { "User-Agent": "Other" }, { "user-agent": "Other" }]) await client.request({ url, headers });
    }),
  );
  assert.deepEqual(names, [["Holt"], ["Other"], ["Other"]]);
});

test("an ignored body can have any length, and a short one keeps its connection", async () => {
  const ports: (number | undefined)[] = [];
  const listener: RequestListener = ({ url, socket }, response) => {
    ports.push(socket.remotePort);
    if (url === "/short") return void response.end("thanks");
    const stream = setInterval(() => response.write(Buffer.alloc(url === "/endless" ? 16_384 : 1)), 1);
    response.on("close", () => clearInterval(stream));
  };
  await withServer(listener, (port) =>
    withClient({}, async (client) => {
      const ask = (path: string) =>
        client.request({ url: `http://127.0.0.1:${port}${path}`, method: "POST", body: "x", maxBytes: 65_536, ignoreBody: true });
      for (let i = 0; i < 10; i++) await ask("/short");
      assert.ok(new Set(ports).size <= 2, "at most two connections alternate, since one may not be free yet");
      for (const path of ["/endless", "/slow"]) {
        const { status, body } = await ask(path);
        assert.deepEqual([status, body.length], [200, 0], path);
      }
      assert.equal((await ask("/short")).status, 200, "requests work after connections were closed");
    }),
  );
});

/** Answers `/to?url=…` with a redirect, `/loop` with one to itself, and everything else with the headers of the request. */
const redirecting: RequestListener = (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
  if (pathname === "/to")
    return void response.writeHead(Number(searchParams.get("status") ?? 302), { location: searchParams.get("url") ?? "" }).end();
  if (pathname === "/loop") return void response.writeHead(302, { location: "/loop" }).end();
  if (pathname === "/nowhere") return void response.writeHead(302).end();
  if (pathname === "/far") return void response.writeHead(302, { location: `/${"x".repeat(3000)}` }).end();
  if (pathname === "/choices") return void response.writeHead(300, { location: "/end" }).end();
  response.end(JSON.stringify({ path: request.url, ...request.headers }));
};

test("redirects are followed on request, relative and absolute, with each redirecting status", async () => {
  await withServer(redirecting, (port) =>
    withClient({}, async (client) => {
      for (const status of [301, 302, 303, 307, 308])
        for (const target of ["end?x=1", `http://localhost:${port}/end?x=1`]) {
          const url = `http://127.0.0.1:${port}/to?status=${status}&url=${encodeURIComponent(target)}`;
          const answer = await client.request({ url, maxRedirects: 1 });
          assert.equal(JSON.parse(answer.body.toString()).path, "/end?x=1");
          await assert.rejects(client.request({ url }), failsWith("redirect"));
          await assert.rejects(client.request({ url, method: "POST", body: "x", maxRedirects: 1 }), failsWith("redirect"));
        }
    }),
  );
});

test("the number of redirects is limited, and a redirect without a usable target fails", async () => {
  let hits = 0;
  const counting: RequestListener = (request, response) => {
    hits++;
    redirecting(request, response);
  };
  await withServer(counting, (port) =>
    withClient({}, async (client) => {
      await assert.rejects(client.request({ url: `http://127.0.0.1:${port}/loop`, maxRedirects: 5 }), failsWith("redirect"));
      assert.equal(hits, 6);
      for (const path of ["/nowhere", "/choices", "/to?url=http://%5B", "/far"])
        await assert.rejects(client.request({ url: `http://127.0.0.1:${port}${path}`, maxRedirects: 5 }), failsWith("redirect"));
    }),
  );
});

test("each redirect is checked like the first address", async () => {
  await withServer(redirecting, (port) =>
    withClient({ allowCidrs: ["127.0.0.1/32"] }, async (client) => {
      for (const [target, reason] of [
        ["https://169.254.169.254/latest/meta-data", "address"],
        ["http://127.0.0.2/", "address"],
        ["https://[::1]/", "address"],
        ["file:///etc/passwd", "scheme"],
        ["ftp://127.0.0.1/", "scheme"],
        [`http://user:secret@127.0.0.1:${port}/`, "url"],
      ] as const) {
        const url = `http://127.0.0.1:${port}/to?url=${encodeURIComponent(target)}`;
        await assert.rejects(client.request({ url, maxRedirects: 5 }), failsWith(reason));
      }
    }),
  );
});

test("a redirect to another origin gets no credentials", async () => {
  await withServer(redirecting, (port) =>
    withClient({}, async (client) => {
      const headers = { Authorization: "Bearer secret", cookie: "secret", "x-other": "kept" };
      const headersAt = async (target: string) => {
        const url = `http://127.0.0.1:${port}/to?url=${encodeURIComponent(target)}`;
        return JSON.parse((await client.request({ url, headers, maxRedirects: 1 })).body.toString());
      };
      const same = await headersAt("/end");
      assert.deepEqual([same.authorization, same.cookie, same["x-other"]], ["Bearer secret", "secret", "kept"]);
      const other = await headersAt(`http://localhost:${port}/end`);
      assert.deepEqual([other.authorization, other.cookie, other["x-other"]], [undefined, undefined, "kept"]);
    }),
  );
});
