/** Commands for images and tags, events and deliveries, libraries and advisories. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { entitleOwner } from "../../server/test/harness/advisories/entitle-owner.ts";
import { CRITICAL, createFindingsWorld, type FindingsWorld, osv } from "../../server/test/harness/advisories/findings-world.ts";
import { APK, apkDatabase, layerOf } from "../../server/test/harness/registry/image-content.ts";
import { basic, type Descriptor } from "../../server/test/harness/registry/registry-client.ts";
import { until } from "../../server/test/harness/wait.ts";
import { startWebhookReceiver } from "../../server/test/harness/webhook-receiver.ts";
import { type CommandLineWorld, startCommandLineWorld } from "./harness.ts";

describe("commands for content", () => {
  const world = {} as CommandLineWorld;
  let given: FindingsWorld;
  /** The path of the repository. */
  let app: string;
  let old: { index: Descriptor; amd64: Descriptor; arm64: Descriptor };
  let current: Descriptor;

  const push = async (architecture: string, ...packages: readonly string[]) =>
    given.repo.push([await layerOf({ [APK]: apkDatabase(...packages), "etc/os-release": "ID=wolfi\nVERSION_ID=1\n" })], { architecture });
  const tag = (name: string, digest: string) => world.raw("POST", `/registry/v2/tags/${given.repo.uid}`, { name, digest });
  const indexOf = (amd64: Descriptor, arm64: Descriptor) =>
    given.repo.pushIndex([
      { ...amd64, platform: { os: "linux", architecture: "amd64" } },
      { ...arm64, platform: { os: "linux", architecture: "arm64" } },
    ]);

  before(async () => {
    Object.assign(world, await startCommandLineWorld());
    given = await createFindingsWorld(world);
    app = "findings-0/app";
    await given.importAdvisories([
      osv("CVE-2026-0001", [{ ecosystem: "Wolfi", name: "openssl", events: [{ introduced: "0" }, { fixed: "3.0.2-r0" }] }]),
      osv("CVE-2026-0002", [{ ecosystem: "Wolfi", name: "curl", events: [{ introduced: "8.1-r0" }, { fixed: "9-r0" }] }]),
    ]);
    await given.score({ "CVE-2026-0001": CRITICAL });
    const amd64 = await push("amd64", "openssl 3.0.1-r0", "musl 1.2-r0", "zlib 1-r0");
    const arm64 = await push("arm64", "openssl 3.0.1-r0", "musl 1.2-r0");
    old = { amd64, arm64, index: await indexOf(amd64, arm64) };
    current = await indexOf(await push("amd64", "openssl 3.0.2-r0", "musl 1.2-r0", "curl 8.1-r0"), arm64);
    await tag("1.0", old.index.digest);
    await tag("latest", old.index.digest);
    await tag("latest", current.digest);
    await tag("stable", current.digest);
    await given.settle();
  });
  after(async () => {
    given[Symbol.dispose]();
    await world[Symbol.asyncDispose]();
  });

  test("the tagged images of a repository are listed by its name", async () => {
    const rows = await world.holt.json<{ name: string; digest: string }[]>(["images", "ls", app]);
    assert.deepEqual(
      rows.map(({ name, digest }) => [name, digest]),
      [
        ["1.0", old.index.digest],
        ["latest", current.digest],
        ["stable", current.digest],
      ],
    );
    const { stdout, stderr } = await world.holt.run(["images", "ls", app, "--limit", "1", "-o", "csv"]);
    assert.deepEqual([stdout.split("\r\n").length, stderr], [3, "These are 1 of 3; --all shows every one.\n"]);
  });

  test("an image is shown with its platforms, sizes, tags, packages and vulnerabilities", async () => {
    type Shown = { digest: string; tags: string[]; packages: number; platforms: object[]; sizes: object[]; vulnerabilities: object };
    const shown = await world.holt.json<Shown>(["images", "show", `${app}:1.0`]);
    assert.deepEqual([shown.digest, shown.tags, shown.packages, shown.sizes.length], [old.index.digest, ["1.0"], 5, 2]);
    assert.deepEqual(shown.platforms, [
      { platform: "linux/amd64", digest: old.amd64.digest },
      { platform: "linux/arm64", digest: old.arm64.digest },
    ]);
    assert.deepEqual(shown.vulnerabilities, { critical: 2, high: 0, medium: 0, low: 0, negligible: 0, unknown: 0 });
    const text = await world.holt.must(["images", "show", `${given.repo.uid}@${old.index.digest}`]);
    assert.match(text, /^VULNERABILITIES +2 critical$/m);
  });

  test("a tag that does not exist is reported with advice, and a malformed image is a wrong command line", async () => {
    const missing = await world.holt.run(["images", "show", `${app}:9`]);
    assert.equal(missing.status, 5);
    assert.match(missing.stderr, /has no tag "9" that you can see\n {2}→ see the tags with: holt images ls findings-0\/app --all-tags/);
    assert.equal((await world.holt.run(["images", "show", `${app}@sha256:1`])).status, 2);
  });

  test("the history of a tag has a row for each platform of each digest, the newest move first", async () => {
    type Move = { digest: string; platform: string; imageDigest: string };
    const rows = await world.holt.json<Move[]>(["images", "history", app]);
    assert.deepEqual(
      rows.map(({ digest, platform }) => [digest, platform]),
      [current, old.index].flatMap(({ digest }) => ["linux/amd64", "linux/arm64"].map((platform) => [digest, platform])),
    );
    assert.equal(rows.at(-1)?.imageDigest, old.arm64.digest);
    assert.equal(await world.holt.must(["images", "history", app, "--limit", "1", "-o", "name"]), `${current.digest}\n`.repeat(2));
  });

  test("the newest moves of a tag are shown also if it has moved more than a thousand times", async () => {
    await tag("nightly", old.index.digest);
    const begin = world.clock.now().getTime() + 1000;
    const moves = Array.from({ length: 1010 }, (_, index) => ({
      repo_uid: given.repo.uid,
      tag: "nightly",
      digest: [old.amd64.digest, current.digest][index % 2] ?? "",
      // Two moves have each time.
      time: new Date(begin + Math.floor(index / 2)).toISOString(),
      actor: "",
    }));
    await world.store.transaction((db) => db.insertInto("tag_history").values(moves).execute());
    const history = await world.holt.json<{ updateTime: string }[]>(["images", "history", `${app}:nightly`, "--limit", "1011"]);
    const times = [...new Set(history.map(({ updateTime }) => updateTime))];
    assert.deepEqual([times.length, times[0]], [506, moves.at(-1)?.time]);
    const digests = await world.holt.must(["images", "history", `${app}:nightly`, "--limit", "2", "-o", "name"]);
    assert.equal(digests, `${current.digest}\n${current.digest}\n${old.amd64.digest}\n`);
  });

  test("packages of an image are filtered by type and platform", async () => {
    const list = ["images", "packages", `${app}:1.0`, "--type", "apk", "--platform", "linux/amd64"];
    const rows = await world.holt.json<{ name: string }[]>(list);
    assert.deepEqual(
      rows.map(({ name }) => name),
      ["musl", "openssl", "zlib"],
    );
    assert.match((await world.holt.run([...list, "--limit", "2"])).stderr, /These are 2 of 3/);
    assert.deepEqual(await world.holt.json(["images", "packages", app, "--type", "deb"]), []);
  });

  test("vulnerabilities of an image are listed and filtered", async () => {
    const table = await world.holt.must(["images", "vulnerabilities", `${app}:1.0`]);
    assert.match(table, /^critical +CVE-2026-0001 +openssl +3\.0\.1-r0 +3\.0\.2-r0 +linux\/amd64$/m);
    const ids = (...args: string[]) => world.holt.must(["images", "vulnerabilities", app, ...args, "-o", "name"]);
    assert.equal(await ids("--package", "curl", "--fixable"), "CVE-2026-0002\n");
    assert.equal(await ids("--severity", "critical", "--severity", "high"), "CVE-2026-0001\n");
    assert.equal((await world.holt.run(["images", "vulnerabilities", app, "--severity", "bad"])).status, 2);
  });

  test("referrers of an image are listed with their types", async () => {
    const subject = { mediaType: current.mediaType, digest: current.digest, size: current.size };
    const attached = await given.repo.pushArtifact([["{}", "text/plain"]], { subject, artifactType: "application/vnd.example" });
    const [row, ...others] = await world.holt.json<{ digest: string; artifactType: string }[]>(["images", "referrers", app]);
    assert.deepEqual([row?.digest, row?.artifactType, others.length], [attached.digest, "application/vnd.example", 0]);
    assert.match(await world.holt.must(["images", "referrers", app]), /unsigned/);
  });

  test("a tag is resolved to its digest and to the other tags of the digest, even if nobody pushed it", async () => {
    assert.equal(await world.holt.must(["tags", "resolve", app, "-o", "name"]), `${current.digest}\n`);
    const found = await world.holt.json<{ otherTags: string[]; platforms: object[] }>(["tags", "resolve", `${app}:latest`]);
    assert.deepEqual([found.otherTags, found.platforms.length], [["stable"], 2]);
    const digest = `sha256:${"7".repeat(64)}`;
    await tag("missing", digest);
    assert.match(await world.holt.must(["tags", "resolve", `${app}:missing`]), new RegExp(`DIGEST +${digest}`));
  });

  test("two images are compared by platform and type of package, as JSON, as a table and as Markdown", async () => {
    const diff = ["images", "diff", `${app}:1.0`, app];
    type Document = { complete: boolean; packages: Record<string, unknown>[]; vulnerabilities: Record<string, unknown>[] };
    const { complete, packages, vulnerabilities } = await world.holt.json<Document>(diff);
    assert.equal(complete, true);
    assert.deepEqual(
      packages.map(({ platform, type, name, change, before, after }) => [platform, type, name, change, before, after]),
      [
        ["linux/amd64", "apk", "curl", "added", [], ["8.1-r0"]],
        ["linux/amd64", "apk", "openssl", "changed", ["3.0.1-r0"], ["3.0.2-r0"]],
        ["linux/amd64", "apk", "zlib", "removed", ["1-r0"], []],
      ],
    );
    assert.deepEqual(
      vulnerabilities.map(({ id, change, severity, name }) => [id, change, severity, name]),
      [
        ["CVE-2026-0002", "added", "unknown", "curl"],
        ["CVE-2026-0001", "removed", "critical", "openssl"],
      ],
    );
    assert.match(await world.holt.must(diff), /^package +changed +linux\/amd64 +apk +openssl +3\.0\.1-r0 +3\.0\.2-r0$/m);
    const markdown = await world.holt.must([...diff, "--markdown"]);
    assert.ok(markdown.includes("| `linux/amd64` | `apk` | `openssl` | `3.0.1-r0` | `3.0.2-r0` |\n"), markdown);
    assert.ok(markdown.includes("| `removed` | `critical` | `CVE-2026-0001` |"), markdown);
  });

  test("a comparison names the platforms that only one image has, and does not compare their content", async () => {
    const diff = ["images", "diff", `${app}:1.0`, `${app}@${old.arm64.digest}`];
    const { stdout, stderr } = await world.holt.run(diff);
    assert.deepEqual([stdout, stderr], ["", "Only the earlier image has linux/amd64.\nNo results.\n"]);
  });

  test("the events of a group are printed, and further ones follow until Ctrl-C", async () => {
    const group = await world.group(world.orgUid, "tailed");
    const first = await world.group(group, "first");
    const tail = ["events", "tail", "tailed", "--type", "api.iam.group.created.v1"];
    const following = world.holt.start([...tail, "-f", "-o", "json"]);
    const subjects = () =>
      following
        .stdout()
        .split("\n")
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { subject: string }).subject);
    await until(() => subjects().includes(first));
    const second = await world.group(group, "second");
    await until(() => subjects().includes(second));
    following.kill("SIGINT");
    assert.deepEqual([(await following.ended).status, (await following.ended).stderr], [130, ""]);
    assert.deepEqual(subjects().slice(-2), [first, second]);
    const lines = (await world.holt.must(tail)).trim().split("\n");
    assert.match(lines.at(-1) ?? "", new RegExp(`^\\S+Z {2}\\S*api\\.iam\\.group\\.created\\.v1 {2}${second} {2}${world.owner.uid}$`));
  });

  test("deliveries of a subscription are listed and sent again, by the sink of the subscription", async () => {
    await using receiver = await startWebhookReceiver();
    const group = await world.group(world.orgUid, "hooked");
    const sink = `${receiver.url}/hook`;
    await world.raw("POST", `/events/v2/subscriptions/${group}`, { sink });
    const noticed = await world.group(group, "noticed");
    // The event about the group itself may be published after the subscription exists.
    const received = () => receiver.accepted("/hook").filter(({ headers }) => headers["ce-subject"] === noticed);
    await until(() => received().length === 1);
    const list = ["deliveries", "ls", sink, "--state", "delivered", "--type", "api.iam.group.*"];
    let row: { eventId: string } | undefined;
    await until(async () => {
      const rows = await world.holt.json<{ eventId: string; subject: string }[]>(list);
      row = rows.find(({ subject }) => subject === noticed);
      return row !== undefined;
    });
    const eventId = row?.eventId ?? "";
    assert.equal(eventId, received()[0]?.headers["ce-id"]);
    const sent = await world.holt.json<{ count: number }>(["deliveries", "redeliver", sink, "--event", eventId]);
    assert.equal(sent.count, 1);
    await until(() => received().length === 2);
    assert.equal((await world.holt.run(["deliveries", "redeliver", sink])).status, 2);
    assert.equal((await world.holt.run(["deliveries", "ls", `${sink}/other`])).status, 5);
  });

  test("a subscription is found by its sink with and without the slash after the host", async () => {
    const group = await world.group(world.orgUid, "slashes");
    for (const sink of ["https://bare.test", "https://slash.test/"]) {
      const { text } = await world.raw("POST", `/events/v2/subscriptions/${group}`, { sink });
      assert.equal(JSON.parse(text).sink, sink);
    }
    for (const sink of ["https://bare.test", "https://bare.test/", "https://slash.test", "https://slash.test/"])
      await world.holt.must(["deliveries", "ls", sink]);
    await world.raw("POST", `/events/v2/subscriptions/${group}`, { sink: "https://bare.test/" });
    // The sink as it was written comes first.
    await world.holt.must(["deliveries", "ls", "https://bare.test"]);
    assert.equal((await world.holt.run(["deliveries", "ls", "https://bare.test/other"])).status, 5);
  });

  test("libraries are listed, and shown with their versions by name, path and uid", async () => {
    await world.group(world.orgUid, "packages");
    for (const version of ["1.0", "1.1"]) {
      const path = `/libraries/java/my-org:packages/com/example/tool/${version}/tool-${version}.jar`;
      const headers = { authorization: basic("_token", world.token) };
      const answer = await fetch(world.baseUrl + path, { method: "PUT", headers, body: version });
      assert.equal(answer.status, 201, await answer.text());
    }
    const [listed] = await world.holt.json<{ uid: string; name: string }[]>(["libraries", "ls", "tool", "--ecosystem", "java"]);
    assert.equal(listed?.name, "com.example:tool");
    for (const name of ["com.example:tool", "my-org/packages/com.example:tool", listed?.uid ?? ""]) {
      const shown = await world.holt.json<{ uid: string; versions: { version: string }[] }>(["libraries", "show", name]);
      assert.deepEqual([shown.uid, shown.versions.map(({ version }) => version)], [listed?.uid, ["1.1", "1.0"]]);
    }
    assert.match(await world.holt.must(["libraries", "show", "com.example:tool"]), /^1\.0 +3 B/m);
    assert.equal((await world.holt.run(["libraries", "show", "tool"])).status, 5);
  });

  test("advisories are exported to a file, and a file with them is imported into another group", async () => {
    const { holt } = world;
    const group = await world.group(world.orgUid, "imported");
    await entitleOwner(world, world.orgUid);
    await holt.must(["advisories", "export", "findings-0"]);
    const replaced = await holt.run(["advisories", "export", "findings-0"]);
    assert.deepEqual([replaced.status, /Replace osv\.zip\?/.test(replaced.stderr)], [2, true]);
    const done = await holt.json<{ counts: Record<string, string> }>(["advisories", "import", "osv.zip", "imported"]);
    assert.deepEqual([done.counts.created, done.counts.problems ?? "0"], ["2", "0"]);
    const { text } = await world.raw("GET", `/vulnerabilities/v2/advisories?uidp.children_of=${group}`);
    assert.deepEqual((JSON.parse(text) as { advisories: { advisoryId: string }[] }).advisories.map(({ advisoryId }) => advisoryId).sort(), [
      "CVE-2026-0001",
      "CVE-2026-0002",
    ]);
    const vex = JSON.parse(await holt.must(["advisories", "export", "findings-0", "--format", "openvex", "--file", "-"]));
    assert.equal(vex.statements.length, 2);
    await writeFile(join(holt.folder, "broken.json"), '{"schema_version": "1.6.0", "id": 5, "affected": []}');
    const broken = await holt.run(["advisories", "import", "broken.json", "imported"]);
    assert.deepEqual([broken.status, /^broken\.json/m.test(broken.stderr)], [8, true], broken.stderr);
  });
});
