/** Errors for people and exit statuses for scripts. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { generate } from "selfsigned";
import { freePort } from "../../server/test/harness/free-port.ts";
import { giveTime, until, within } from "../../server/test/harness/wait.ts";
import { type CommandLineWorld, createCommandLine, startCommandLineWorld } from "./harness.ts";

describe("failures", () => {
  const world = {} as CommandLineWorld;
  before(async () => void Object.assign(world, await startCommandLineWorld()));
  after(() => world[Symbol.asyncDispose]());

  const at = (url: string) => ({ env: { HOLT_URL: url, HOLT_TOKEN: "some-token" } });

  test("a wrong command line ends with 2 before anything is sent, and suggests what was meant", async () => {
    const cases: [string[], RegExp][] = [
      [["iam", "grups"], /there is no command "holt iam grups"\n {2}→ did you mean: holt iam groups\n/],
      [["help", "grups"], /there is no command "holt grups"\n {2}→ did you mean: holt iam groups\n/],
      [["groups", "list"], /there is no command "holt groups"\n {2}→ did you mean: holt iam groups\n/],
      [["roles", "list"], /there is no command "holt roles list"\n {2}→ did you mean: holt iam roles list\n/],
      [["--bogus"], /unknown option '--bogus'\n {2}→ see: holt --help\n/],
      [["iam", "--bogus"], /unknown option '--bogus'\n {2}→ see: holt iam --help\n/],
      [["-o", "json", "iam", "-x"], /unknown option '-x'/],
      [["imagse"], /→ did you mean: holt images\n/],
      [["can", "groups.lst"], /there is no capability "groups.lst"; did you mean groups.list\?/],
      [
        ["iam", "roles", "create", "--name", "x", "--capabilities", "groups.lst"],
        /there is no value "groups.lst"; did you mean groups.list\?/,
      ],
      [["login", "ftp://holt.example.com"], /"ftp:\/\/holt.example.com" is not the URL of a server/],
      [["iam", "groups", "list", "--nmae", "x"], /unknown option '--nmae'; did you mean --name\?\n {2}→ see: holt iam groups list --help/],
      [["iam", "groups", "get"], /missing required argument 'uid'/],
      [["iam", "groups", "list", "-o", "xml"], /argument 'xml' is invalid/],
      [["iam", "groups", "update", "my-org"], /nothing to change is given/],
      [["grant", "", "viewer", "my-org"], /the argument IDENTITY is empty\n {2}→ see: holt grant --help/],
      [["libraries", "upload", "a.whl", ""], /the argument PATH is empty/],
      [["iam", "sessions", "end", "", "--yes"], /the argument UID is empty/],
      [["invite", "my-org", "--role", "viewer", "--email", ""], /the option --email is empty\n {2}→ see: holt invite --help/],
      [["invite", "", "--role", "viewer"], /the argument GROUP is empty/],
      [["tree", ""], /the argument GROUP is empty/],
      [["tree", "--depth", "one"], /--depth: "one" must be a number/],
      [["tree", "--with", "repo"], /--with: "repo" must be one of repos, identities, roles/],
      [["iam", "groups", "list", "--name="], /the option --name is empty/],
      [["iam", "identities", "list", "--descendants-of", ""], /the option --descendants-of is empty/],
      [["iam", "groups", "list", "--context", ""], /the option --context is empty/],
      [["advisories", "review", "--artifact", "a", "--artifact", ""], /the option --artifact is empty/],
      [["pull-token", "create", "my-org", "--name", "x", "--repository", ""], /the option --repository is empty/],
      [["iam", "groups", "update", "my-org", "--from-file", ""], /the option --from-file is empty/],
      [["iam", "sessions", "end", "/", "--yes"], /the argument UID cannot be the root/],
      [
        ["iam", "pull-tokens", "create", "--parent", "my-org", "--name", "x", "--rights", "all"],
        /--rights: "all" must be one of images-pull/,
      ],
    ];
    for (const [args, expected] of cases) {
      const { status, stdout, stderr } = await world.holt.run(args);
      assert.equal(status, 2, stderr);
      assert.equal(stdout, "");
      assert.match(stderr, expected);
    }
  });

  test("revoke deletes no binding of another identity or role, whatever the server lists", async () => {
    const [org, identity, role, binding] = ["a", "b", "c", "d"].map((digit) => digit.repeat(40));
    const methods: (string | undefined)[] = [];
    const roleBindings = [
      { uid: `${org}/${binding?.slice(0, 16)}`, identityUid: org, roleUid: role },
      { uid: `${org}/${role?.slice(0, 16)}`, identityUid: identity, roleUid: org },
    ];
    await using server = await listening(
      createServer(({ method }, response) => {
        methods.push(method);
        response.end(JSON.stringify({ roleBindings }));
      }),
    );
    const revoke = ["revoke", identity ?? "", role ?? "", org ?? "", "--yes"];
    const { status } = await world.holt.run(revoke, at(`http://127.0.0.1:${server.port}`));
    assert.deepEqual([status, methods], [5, ["GET"]]);
  });

  test("a missing capability is named with its place, and the status is 4", async () => {
    const robot = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    const env = { HOLT_URL: world.baseUrl, HOLT_TOKEN: robot.token };
    const { status, stderr } = await world.holt.run(["iam", "groups", "create", "--parent", "my-org", "--name", "x", "-v"], { env });
    assert.equal(status, 4);
    assert.match(stderr, new RegExp(`holt: the capability groups.create is missing at ${world.orgUid}\n`));
    assert.match(stderr, /→ ask an owner for a role with groups\.create/);
    assert.match(stderr, /code PERMISSION_DENIED\n {2}request [0-9a-f-]{36}/);
  });

  test("each kind of refusal has its own status", async () => {
    const { holt, baseUrl } = world;
    const parent = await world.group(world.orgUid, "taken");
    await world.group(parent, "child");
    const statusOf = async (args: string[], env = {}) => (await holt.run(args, { env })).status;
    assert.equal(await statusOf(["iam", "groups", "get", "0".repeat(40)]), 5);
    const create = ["registry", "repos", "create", "--parent", "my-org", "--name", "taken"];
    assert.deepEqual([await statusOf(create), await statusOf(create)], [0, 6]);
    assert.equal(await statusOf(["iam", "groups", "delete", parent, "--yes"]), 7);
    assert.equal(await statusOf(["iam", "groups", "create", "--parent", "my-org", "--name", "Ü"]), 8);
    assert.equal(await statusOf(["iam", "groups", "list"], { HOLT_URL: baseUrl, HOLT_TOKEN: "wrong" }), 3);
  });

  test("a server that is down is named with its address", async () => {
    const port = await freePort();
    const { status, stderr } = await world.holt.run(["iam", "groups", "list"], at(`http://127.0.0.1:${port}`));
    assert.equal(status, 9);
    assert.match(stderr, new RegExp(`cannot reach http://127.0.0.1:${port}: .*ECONNREFUSED.*\n {2}→ check that the server runs`));
  });

  test("a login at an address without a Holt server ends at once and leaves the contexts as they are", async () => {
    await using other = await listening(createServer((_, response) => response.writeHead(404).end("<h1>Not Found</h1>")));
    const before = await world.holt.must(["context", "list"]);
    const [down, wrong] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${other.port}`];
    for (const [url, status, message] of [
      [down, 9, `cannot reach ${down}`],
      [wrong, 2, `${wrong} is not a Holt server`],
    ] as const)
      for (const option of ["--no-open", "--headless", "--device"]) {
        const login = await world.holt.run(["login", url, option]);
        assert.deepEqual([login.status, login.stderr.includes(message)], [status, true], login.stderr);
      }
    const ownToken = `e30.${Buffer.from(JSON.stringify({ iss: down })).toString("base64url")}.x`;
    const stored = await world.holt.run(["login", down, "--token-stdin"], { input: ownToken });
    assert.equal(stored.status, 9, stored.stderr);
    assert.equal(await world.holt.must(["context", "list"]), before);
  });

  test("a certificate that is not trusted is explained", async () => {
    const { private: key, cert } = await generate([{ name: "commonName", value: "127.0.0.1" }]);
    await using server = await listening(createTlsServer({ key, cert }));
    const { status, stderr } = await world.holt.run(["iam", "groups", "list"], at(`https://127.0.0.1:${server.port}`));
    assert.equal(status, 9);
    assert.match(stderr, /certificate.*\n {2}→ the server's certificate is not trusted; name its authority: holt login URL --ca-file/);
  });

  test("the authority of a server's certificate is trusted by a context, or by the environment", async () => {
    await using holt = await createCommandLine();
    const extension = { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] } as const;
    const { private: key, cert } = await generate([{ name: "commonName", value: "test" }], { extensions: [extension] } as never);
    await writeFile(join(holt.folder, "ca.pem"), cert);
    await using server = await listening(createTlsServer({ key, cert }, (request, response) => forward(request, response, world.baseUrl)));
    const url = `https://127.0.0.1:${server.port}`;
    const login = ["login", url, "--token-stdin", "--name", "tls"];
    assert.equal((await holt.run(login, { input: world.token })).status, 9);
    await holt.must([...login, "--ca-file", "ca.pem"], { input: world.token });
    assert.match(await holt.must(["iam", "groups", "list"], { cwd: "/" }), /my-org/);
    await holt.must(["context", "use", "tls", "--group", "my-org"]);
    assert.match(await holt.must(["iam", "groups", "list"]), /my-org/);
    const env = { HOLT_URL: `https://127.0.0.1:${server.port}/`, HOLT_TOKEN: world.token, HOLT_CONFIG_DIR: join(holt.folder, "empty") };
    assert.equal((await holt.run(["iam", "groups", "list"], { env })).status, 9);
    assert.match(
      await holt.must(["iam", "groups", "list"], { env: { ...env, NODE_EXTRA_CA_CERTS: join(holt.folder, "ca.pem") } }),
      /my-org/,
    );
    await writeFile(join(holt.folder, "ca.pem"), "nothing");
    const broken = await holt.run(["iam", "groups", "list"]);
    assert.deepEqual([broken.status, /has no valid certificate/.test(broken.stderr)], [2, true], broken.stderr);
  });

  test("a command that is interrupted at any moment ends with 130 or 0, and leaves settings that work", async () => {
    await using holt = await createCommandLine();
    const login = ["login", world.baseUrl, "--token-stdin", "--name", "test"];
    await holt.must(login, { input: world.token });
    for (let round = 0; round < 12; round++) {
      const command = holt.start(round % 2 === 0 ? ["context", "use", "test", "--group", `g${round}`] : login, { input: world.token });
      await giveTime(Math.random() * 400);
      command.kill(round % 3 === 0 ? "SIGTERM" : "SIGINT");
      const { status, stderr } = await within(command.ended, command.stderr);
      // Before holt listens for signals, the system ends it, and there is no status.
      assert.ok([0, 130, 143, null].includes(status), `${status} ${stderr}`);
      assert.doesNotMatch(stderr, /\n {4}at /);
      assert.match(await holt.must(["whoami", "-o", "name"]), new RegExp(world.owner.uid));
    }
  });

  test("a tree of 10,000 groups is printed whole", async () => {
    await using server = await listening(createServer(manyGroups(10_000)));
    const env = { HOLT_URL: `http://127.0.0.1:${server.port}`, HOLT_TOKEN: "some-token" };
    const shown = await world.holt.must(["tree"], { env });
    const lines = shown.trimEnd().split("\n");
    assert.equal(lines.length, 10_000);
    assert.match(lines[0] ?? "", /org$/);
    assert.match(lines.at(-1) ?? "", /group-\d+$/);
    const json = JSON.parse(await world.holt.must(["tree", "-o", "json"], { env })) as unknown[];
    assert.equal(json.length, 10_000);
  });

  test("a server that does not answer is given up after the timeout", async () => {
    await using server = await listening(createServer(() => {}));
    const url = `http://127.0.0.1:${server.port}`;
    const token = { input: "token-of-another-issuer" };
    for (const [args, input] of [
      [["iam", "groups", "list"], {}],
      [["whoami"], {}],
      [["can", "groups.list", world.orgUid], {}],
      [["login", url, "--headless"], {}],
      [["login", url, "--token-stdin"], token],
    ] as const) {
      const { status, stderr } = await world.holt.run([...args, "--timeout", "200ms"], { ...at(url), ...input });
      assert.equal(status, 9, args.join(" "));
      assert.match(stderr, /did not answer in time\n {2}→ the server is slow or overloaded/);
    }
  });

  test("a timeout that is longer than a timer can be, or has a fraction of a millisecond, is not over at once", async () => {
    for (const timeout of ["30d", "365d", "60000.5ms"]) await world.holt.must(["whoami", "--timeout", timeout]);
  });

  test("an answer that breaks off or stalls ends with 9, and leaves an earlier download as it is", async () => {
    await using server = await listening(
      createServer((request, response) => {
        response.writeHead(200, { "content-length": "1000" }).write("begun");
        if (request.url !== "/stalls") setTimeout(() => response.destroy(), 100);
      }),
    );
    const options = at(`http://127.0.0.1:${server.port}`);
    const feed = join(world.holt.folder, "feed.zip");
    await writeFile(feed, "earlier");
    for (const args of [
      ["advisories", "export", world.orgUid, "--file", feed, "--yes"],
      ["advisories", "export", world.orgUid, "--file", "-"],
      ["api", "GET", "/breaks-off"],
      ["api", "GET", "/stalls", "--timeout", "1s"],
    ]) {
      const { status, stderr } = await world.holt.run(args, options);
      assert.equal(status, 9, `${args.join(" ")}: ${stderr}`);
      assert.match(stderr, /^holt: the answer of the server (broke off|did not end in time)/);
    }
    assert.equal(await readFile(feed, "utf8"), "earlier");
  });

  test("a command says which fields of a file the server ignored", async () => {
    const create = ["iam", "groups", "create", "--parent", "my-org", "--from-file", "-"];
    const { status, stderr } = await world.holt.run(create, { input: '{"name": "typo", "descripton": "lost"}' });
    assert.equal(status, 0);
    assert.match(stderr, /^Warning: the server ignored unknown field descripton/m);
  });

  test("an error names a server without TLS at an https address", async () => {
    await using server = await listening(createServer(() => {}));
    const { status, stderr } = await world.holt.run(["whoami"], at(`https://127.0.0.1:${server.port}`));
    assert.equal(status, 9);
    assert.match(stderr, /: TLS failed: wrong version number\n {2}→ the server may not use TLS; .* http:\/\/\n$/);
  });

  test("the rule for names is given in words", async () => {
    const { status, stderr } = await world.holt.run(["iam", "groups", "create", "--parent", "my-org", "--name", "Team A"]);
    assert.equal(status, 8);
    assert.match(stderr, /→ use lower-case letters, digits, spaces, dots, underscores and hyphens only\n/);
  });

  test("a mistyped path of holt api leads to the list of operations", async () => {
    const { status, stderr } = await world.holt.run(["api", "GET", "/iam/v2/groupz"]);
    assert.equal(status, 5);
    assert.match(stderr, /the server has no operation GET \/iam\/v2\/groupz\n {2}→ check the path: the page \/docs of the server/);
  });

  test("a refused value of holt api leads to the description of the fields, with the details on request", async () => {
    const { status, stderr } = await world.holt.run(["api", "GET", "/iam/v2/groups", "-f", "page_size=many", "-v"]);
    assert.equal(status, 8);
    assert.match(stderr, /\n {2}→ correct the value; the page \/docs of the server describes the fields of all requests\n/);
    assert.match(stderr, /\n {2}code INVALID_ARGUMENT/);
  });

  test("Ctrl-C ends a command that waits for the server, with status 130 and no message", async () => {
    let arrived = false;
    await using server = await listening(
      createServer(() => {
        arrived = true;
      }),
    );
    const command = world.holt.start(["iam", "groups", "list"], at(`http://127.0.0.1:${server.port}`));
    await until(() => arrived);
    command.kill("SIGINT");
    assert.deepEqual(await within(command.ended, command.stderr), { status: 130, stdout: "", stderr: "" });
  });

  test("a server that does not know an operation is said to be older", async () => {
    const answer = JSON.stringify({ code: 5, message: "Not Found", details: [] });
    await using server = await listening(createServer((_request, response) => response.writeHead(404).end(answer)));
    const { stderr } = await world.holt.run(["iam", "groups", "list"], at(`http://127.0.0.1:${server.port}`));
    assert.match(stderr, /→ this server does not serve the operation; its version may be older/);
  });

  test("a message of a server cannot write control characters to the terminal", async () => {
    const answer = JSON.stringify({ code: 5, message: "no\u001b]0;owned\u0007\nholt:\u202efine", details: [] });
    await using server = await listening(createServer((_request, response) => response.writeHead(404).end(answer)));
    const { stderr } = await world.holt.run(["iam", "groups", "list"], at(`http://127.0.0.1:${server.port}`));
    assert.match(stderr, /^holt: no \]0;owned holt: fine\n/);
  });

  test("an answer that is not of this API is an error with its status", async () => {
    await using server = await listening(createServer((_request, response) => response.writeHead(502).end("<h1>Bad gateway</h1>")));
    const { status, stderr } = await world.holt.run(["ping", "ping", "ping"], at(`http://127.0.0.1:${server.port}`));
    assert.equal(status, 9);
    assert.match(stderr, /the server answered 502/);
  });
});

/** A server behind a proxy that speaks TLS. */
async function forward(request: IncomingMessage, response: ServerResponse, origin: string): Promise<void> {
  const headers = { authorization: request.headers.authorization ?? "", host: new URL(origin).host };
  const answer = await fetch(new URL(request.url ?? "/", origin), { method: request.method ?? "GET", headers });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(await answer.text());
}

/** Answers the list of groups page by page, as the server does: an organization, a hundred folders, and the rest in these. */
function manyGroups(count: number) {
  const org = "a".repeat(40);
  const hex = (number: number) => number.toString(16).padStart(16, "0");
  const uidOf = (index: number) => {
    if (index === 0) return org;
    return index <= 100 ? `${org}/${hex(index)}` : `${org}/${hex((index % 100) + 1)}/${hex(index)}`;
  };
  return (request: IncomingMessage, response: ServerResponse) => {
    const query = new URL(request.url ?? "", "http://x").searchParams;
    const start = Number(query.get("page_token") ?? 0);
    const size = Math.min(Number(query.get("page_size") ?? 50), 200);
    const end = Math.min(start + size, count);
    const groups = Array.from({ length: end - start }, (_, index) => ({
      uid: uidOf(start + index),
      name: start + index === 0 ? "org" : `group-${start + index}`,
    }));
    response.end(JSON.stringify({ groups, ...(end < count && { nextPageToken: String(end) }), totalCount: String(count) }));
  };
}

async function listening(server: Server) {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
