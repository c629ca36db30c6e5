/** Commands that publish packages, review advisories and hand events to a receiver. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { createDeliveryVerifier } from "../../client/src/verify-delivery.ts";
import { sdist, wheel } from "../../server/test/harness/libraries/python-packages.ts";
import { until } from "../../server/test/harness/wait.ts";
import { startWebhookReceiver } from "../../server/test/harness/webhook-receiver.ts";
import { type CommandLineWorld, startCommandLineWorld } from "./harness.ts";

describe("commands that publish", () => {
  const world = {} as CommandLineWorld;
  before(async () => void Object.assign(world, await startCommandLineWorld()));
  after(() => world[Symbol.asyncDispose]());

  async function save(path: string, content: string | Buffer): Promise<void> {
    const file = join(world.holt.folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  const outcomes = async (...args: string[]) =>
    (await world.holt.json<{ file: string; outcome: string }[]>(["libraries", "upload", ...args])).map(({ file, outcome }) => [
      file,
      outcome,
    ]);

  test("the Python packages of a folder are published, and a repetition changes nothing", async () => {
    await world.group(world.orgUid, "py");
    const [one, two] = [wheel({ name: "Demo", version: "1.0" }), await sdist({ name: "Demo", version: "1.0" })];
    for (const { fileName, bytes } of [one, two]) await save(`dist/${fileName}`, bytes);
    await save("dist/notes.txt", "not a package");
    const args = ["dist", "--group", "my-org/py"];
    const first = await outcomes(...args);
    assert.deepEqual(first.map(([file]) => file).sort(), [`dist/${one.fileName}`, `dist/${two.fileName}`].sort());
    assert.deepEqual(new Set(first.map(([, outcome]) => outcome)), new Set(["published"]));
    assert.deepEqual(new Set((await outcomes(...args)).map(([, outcome]) => outcome)), new Set(["unchanged"]));
    const { text } = await world.raw("GET", `/libraries/v2/artifacts?ecosystems=ECOSYSTEM_PYTHON&query=Demo`);
    assert.match(text, /"name":"Demo"/);
  });

  test("a refused file is named with its reason, the others are published, and the status is 8", async () => {
    await save("mixed/bad-1.0-py3-none-any.whl", "not a zip archive");
    const good = wheel({ name: "good", version: "1.0" });
    await save(`mixed/${good.fileName}`, good.bytes);
    const { status, stdout, stderr } = await world.holt.run(["libraries", "upload", "mixed", "--group", "my-org", "-o", "json"]);
    assert.equal(status, 8, stderr);
    assert.match(stderr, /^mixed\/bad-1\.0-py3-none-any\.whl: .*zip/m);
    assert.deepEqual(
      (JSON.parse(stdout) as { outcome: string }[]).map(({ outcome }) => outcome),
      ["published"],
    );
    assert.equal((await world.holt.run(["libraries", "upload", "dist/notes.txt", "--group", "my-org"])).status, 2);
  });

  test("the artifacts of a Maven repository are published without its checksums and metadata", async () => {
    const pom = "<project><groupId>com.example</groupId><artifactId>lib</artifactId><version>1.0</version></project>";
    for (const [name, content] of [
      ["1.0/lib-1.0.pom", pom],
      ["1.0/lib-1.0.jar", "jar"],
      ["1.0/lib-1.0.jar.sha1", "wrong"],
      ["maven-metadata.xml", "<metadata/>"],
    ] as const)
      await save(`repo/com/example/lib/${name}`, content);
    assert.deepEqual(await outcomes("repo", "--group", "my-org"), [
      ["com/example/lib/1.0/lib-1.0.jar", "published"],
      ["com/example/lib/1.0/lib-1.0.pom", "published"],
    ]);
    await save("repo/com/example/lib/1.0/lib-1.0.jar", "other bytes");
    const { status, stderr } = await world.holt.run(["libraries", "upload", "repo", "--group", "my-org"]);
    assert.equal(status, 8);
    assert.match(stderr, /lib-1\.0\.jar: /);
  });

  test("nothing is published from a folder above or below the Maven repository, and the right folder is named", async () => {
    await world.group(world.orgUid, "java");
    const parent = "<parent><groupId>org.acme</groupId><artifactId>all</artifactId><version>2.0</version></parent>";
    const pom = `<?xml version="1.0"?><!-- <groupId>x</groupId> --><project>${parent}<artifactId>tool</artifactId></project>`;
    await save("target/repo/org/acme/tool/2.0/tool-2.0.pom", pom);
    await save("target/repo/org/acme/tool/2.0/tool-2.0.jar", "jar");
    for (const folder of ["target", "target/repo/org"]) {
      const { status, stderr } = await world.holt.run(["libraries", "upload", folder, "--group", "my-org/java"]);
      assert.equal(status, 2, stderr);
      assert.match(stderr, /is the POM of org\/acme\/tool\/2\.0, .*\n.*name the folder of the repository: target\/repo\n/);
    }
    const { text } = await world.raw("GET", "/libraries/v2/artifacts?ecosystems=ECOSYSTEM_JAVA&query=tool");
    assert.doesNotMatch(text, /tool/);
    await save("snapshots/org/acme/tool/2.1-SNAPSHOT/tool-2.1-20260131.235959-1.pom", pom.replace("2.0", "2.1-20260131.235959-1"));
    for (const folder of ["target/repo", "snapshots"])
      assert.deepEqual(new Set((await outcomes(folder, "--group", "my-org/java")).map(([, outcome]) => outcome)), new Set(["published"]));
  });

  test("nothing is published if one of the packages has no attestation", async () => {
    await world.group(world.orgUid, "attested");
    for (const name of ["a", "b"]) {
      const { fileName, bytes } = wheel({ name: `attested-${name}`, version: "1.0" });
      await save(`attested/${fileName}`, bytes);
      if (name === "a") await save(`attested/${fileName}.publish.attestation`, "{}");
    }
    const { status, stderr } = await world.holt.run(["libraries", "upload", "attested", "--group", "my-org/attested", "--attestations"]);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^holt: attested\/attested_b.* has no attestation/);
  });

  test("events of advisories that wait for a review are listed, approved and rejected", async () => {
    const { CAP_ADVISORIES_CREATE: CREATE, CAP_ADVISORIES_UPDATE: UPDATE, CAP_ADVISORIES_APPROVE: APPROVE } = Capability;
    await world.bind(world.owner.uid, await world.role(world.orgUid, [CREATE, UPDATE, APPROVE]), world.orgUid);
    const advisory = { artifactType: "apk", artifactName: "openssl", aliases: ["CVE-2026-0007"] };
    const events = [{ detection: { manual: {} } }, { fixed: { fixedVersion: "3.5.0-r1" } }, { fixNotPlanned: { note: "old" } }];
    await world.raw("POST", "/vulnerabilities/v1/advisories", { parentId: world.orgUid, advisory: { ...advisory, events } });
    type Waiting = { uid: string; event: string; content: string };
    const list = () => world.holt.json<Waiting[]>(["advisories", "review", "--group", "my-org", "--artifact", "openssl"]);
    const waiting = await list();
    assert.deepEqual(waiting.map(({ event }) => event).sort(), ["detection", "fixNotPlanned", "fixed"]);
    const fixed = waiting.find(({ event }) => event === "fixed");
    assert.equal(fixed?.content, "fixedVersion 3.5.0-r1");
    assert.equal(await world.holt.must(["advisories", "review", fixed?.uid ?? "", "--approve"]), "1 event is approved.\n");
    assert.equal((await list()).length, 2);
    const unasked = await world.holt.run(["advisories", "review", "--reject", "--all", "--group", "my-org"]);
    assert.deepEqual([unasked.status, (await list()).length], [2, 2], unasked.stderr);
    await world.holt.must(["advisories", "review", "--reject", "--all", "--group", "my-org", "--yes"]);
    assert.deepEqual(await list(), []);
    const again = await world.holt.run(["advisories", "review", fixed?.uid ?? "", "--reject"]);
    assert.equal(again.status, 7, "a decision is final");
    assert.equal((await world.holt.run(["advisories", "review", "--approve"])).status, 2);
  });

  test("events reach a receiver on this machine, in order and with a signature that it can verify", async () => {
    await using receiver = await startWebhookReceiver();
    const group = await world.group(world.orgUid, "heard");
    const command = ["events", "listen", "heard", "--forward", `${receiver.url}/hook`, "--type", "api.iam.group.*", "-o", "json"];
    receiver.behaveOnce("/hook", (response) => response.writeHead(500).end());
    const listening = world.holt.start(command);
    await until(() => listening.stderr().startsWith("Forwarding events"));
    // The clock of the world stands still since its start.
    world.clock.advance(600_000);
    const created = [await world.group(group, "one"), await world.group(group, "two")];
    await until(() => receiver.at("/hook").length === created.length);
    const verify = createDeliveryVerifier({ issuer: world.baseUrl, group });
    for (const [position, { headers, body }] of receiver.at("/hook").entries()) {
      await verify({ headers, body: new Uint8Array(body) });
      assert.equal(headers["ce-subject"], created[position]);
    }
    await until(() => listening.stdout().split("\n").length > created.length);
    listening.kill("SIGINT");
    const { status, stdout } = await listening.ended;
    const results = stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { result: string }).result);
    assert.deepEqual([status, results], [130, ["500", "200"]]);
  });
});
