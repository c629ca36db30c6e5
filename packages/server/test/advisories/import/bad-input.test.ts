/** Problems of an import are reported with their position, and the rest is stored. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { createRecordReader } from "../../../src/advisories/import/record-reader.ts";
import { CSAF, osv, SECDB, WOLFI } from "../../harness/advisories/import-samples.ts";
import { advisoriesOf, importFile, importFrom, importJson } from "../../harness/advisories/import-world.ts";
import { tarGzOf, zipOf } from "../../harness/libraries/python-packages.ts";
import { describeWithWorld, type World } from "../../harness/world.ts";

const SYMLINK = 0o120777;
const ENCRYPTED = 1;
const SIZES_FOLLOW = 8;

describeWithWorld("imports of bad input", (world) => {
  const good = (id: string) => JSON.stringify(osv({ id, affected: [{ package: { ecosystem: "npm", name: "good" } }] }));

  /** Imports a file. Returns the problems and the ids of the stored advisories. */
  async function outcome(name: string, content: string | Buffer, kind: "advisories" | "vulnerabilities" = "advisories") {
    const parent = await world.group(world.orgUid);
    const { problems } = await importFile(world, name, content, { kind, parent: kind === "advisories" ? parent : "" });
    return { problems, stored: await storedIn(world, parent) };
  }

  test("a zip archive that was cut off is read up to the cut", async () => {
    for (const flags of [0, SIZES_FOLLOW]) {
      const entries = ["A-1", "A-2", "A-3"].map((id) => ({ name: `${id}.json`, content: good(id), flags }));
      const whole = zipOf(entries);
      const third = whole.lastIndexOf("PK\x03\x04");
      const { problems, stored } = await outcome("cut.zip", whole.subarray(0, third + 60));
      assert.deepEqual(stored, ["A-1", "A-2"]);
      assert.deepEqual(problems, [
        {
          file: "cut.zip",
          position: "",
          reason: "the directory at the end of this zip archive is missing or damaged; the files before the damage are read",
        },
        { file: "cut.zip!A-3.json", position: "", reason: "the archive is cut off in this file" },
      ]);
      const onlyDirectory = await outcome("cut.zip", whole.subarray(0, whole.length - 30));
      assert.deepEqual([onlyDirectory.stored, onlyDirectory.problems.length], [["A-1", "A-2", "A-3"], 1]);
    }
  });

  test("archives within archives, links, encrypted files and escaping paths are skipped", async () => {
    const { problems, stored } = await outcome(
      "tricks.zip",
      zipOf([
        { name: "../up.json", content: good("B-1") },
        { name: "/absolute.json", content: good("B-2") },
        { name: "a\\..\\..\\b.json", content: good("B-3") },
        { name: "link.json", content: "/etc/passwd", mode: SYMLINK },
        { name: "secret.json", content: good("B-4"), flags: ENCRYPTED },
        { name: "inner.zip", content: zipOf([{ name: "x.json", content: good("B-5") }]) },
        { name: "fine.json", content: good("B-6") },
      ]),
    );
    assert.deepEqual(stored, ["B-6"]);
    assert.deepEqual(
      problems.map(({ file, reason }) => [file, reason.split(";")[0]]),
      [
        ["tricks.zip!../up.json", "its path leads out of the archive"],
        ["tricks.zip!/absolute.json", "its path leads out of the archive"],
        ["tricks.zip!a/../../b.json", "its path leads out of the archive"],
        ["tricks.zip!link.json", "symbolic links are not followed"],
        ["tricks.zip!secret.json", "encrypted files are not supported"],
        ["tricks.zip!inner.zip", "not JSON, YAML or a supported archive"],
      ],
    );
  });

  test("links and escaping paths in a tar archive are skipped, and an archive that was cut off is read up to the cut", async () => {
    const archive = pack();
    archive.entry({ name: "../up.json" }, good("C-1"));
    archive.entry({ name: "link.json", type: "symlink", linkname: "/etc/passwd" });
    archive.entry({ name: "fine.json" }, good("C-2"));
    archive.finalize();
    const { problems, stored } = await outcome("t.tar", await buffer(archive as unknown as AsyncIterable<Buffer>));
    assert.deepEqual(stored, ["C-2"]);
    assert.deepEqual(
      problems.map(({ file }) => file),
      ["t.tar!../up.json", "t.tar!link.json"],
    );
    const noise = Buffer.from(Array.from({ length: 50_000 }, (_, i) => (i * 7919 * (i % 251)) % 256)).toString("base64");
    const long = await tarGzOf(["C-3", "C-4"].map((id) => ({ name: id, content: JSON.stringify({ ...osv({ id }), details: noise }) })));
    const cut = await outcome("t.tar.gz", long.subarray(0, long.length * 0.8));
    assert.deepEqual([...new Set(cut.stored)], ["C-3"]);
    assert.match(cut.problems.at(-1)?.reason ?? "", /unexpected end of file.*the rest is not read/);
  });

  test("an archive that expands to many times its size is abandoned, and the records before are stored", async () => {
    const bomb = { name: "bomb.json", content: Buffer.alloc(300 * 1024 * 1024, " ") };
    const { problems, stored } = await outcome("bomb.zip", zipOf([{ name: "a.json", content: good("D-1") }, bomb]));
    assert.deepEqual(stored, ["D-1"]);
    assert.match(problems[0]?.reason ?? "", /expands to more than 100 times its size/);
    const falseSize = await outcome(
      "lying.zip",
      zipOf([
        { ...bomb, claimedSize: 2000 },
        { name: "b.json", content: good("D-2") },
      ]),
    );
    assert.deepEqual(falseSize.stored, ["D-2"]);
    assert.match(falseSize.problems[0]?.reason ?? "", /^damaged content/);
    const zipped = await outcome("bomb.gz", gzipSync(bomb.content));
    assert.match(zipped.problems[0]?.reason ?? "", /100 times its size|larger than/);
  });

  test("YAML with exploding aliases, oversized YAML and invalid YAML are reported", async () => {
    const levels = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(", ")}]`);
    const bomb = ["package: {name: x}", "advisories: *a12", "a0: &a0 [x, x]", ...levels].join("\n");
    const exploding = await outcome("bomb.yaml", bomb.replace("advisories: *a12\n", "").concat("\nadvisories: *a12\n"));
    assert.match(exploding.problems[0]?.reason ?? "", /^YAML cannot be read: .*alias/);
    const large = await outcome("large.yaml", `package: {name: x}\nadvisories:\n${"# padding\n".repeat(500_000)}`);
    assert.match(large.problems[0]?.reason ?? "", /at most/);
    const deep = await outcome("deep.yaml", `package: ${"[".repeat(100_000)}`);
    assert.match(deep.problems[0]?.reason ?? "", /YAML/);
    const broken = await outcome("broken.yaml", WOLFI.replace("        type: fixed", "       type: fixed"));
    assert.match(`${broken.problems[0]?.position}: ${broken.problems[0]?.reason}`, /^line \d+: not valid YAML/);
  });

  test("records without ids, with invalid or future times, and of unknown formats are reported with their positions", async () => {
    const lines = [
      good("E-1"),
      JSON.stringify(osv({ id: "" })),
      "{",
      JSON.stringify(osv({ id: "E-2", modified: "2126-01-01T00:00:00Z" })),
      JSON.stringify(osv({ id: "E-3", modified: "yesterday" })),
      JSON.stringify({ hello: "world" }),
      JSON.stringify(osv({ id: "E-4", affected: [] })),
      JSON.stringify(osv({ id: "bad\u0000id" })),
      JSON.stringify(osv({ id: "E-5", aliases: "CVE-2026-0001" })),
      good("E-6"),
    ];
    const { problems, stored } = await outcome("lines", lines.join("\n"));
    assert.deepEqual(stored, ["E-1", "E-6"]);
    assert.deepEqual(
      problems.map(({ position, reason }) => `${position}: ${reason.split(":")[0]}`),
      [
        "line 2 /id: missing",
        "line 3: not valid JSON",
        "line 4 /modified: time in the future",
        "line 5 /modified: must be a time such as 2026-01-31T12",
        "line 6: unrecognized format; expected CVE, CSAF, OpenVEX, secdb, Wolfi YAML or OSV",
        "line 7 /affected: E-4 names no package",
        "line 8 /id: contains control characters or broken Unicode",
        "line 9 /aliases: must be a list",
      ],
    );
  });

  test("unusable events of an advisory are skipped, and an advisory without usable events is skipped as a whole", async () => {
    const future = WOLFI.replace(
      "timestamp: 2026-01-03T00:00:00Z\n        type: true",
      "timestamp: 2126-01-03T00:00:00Z\n        type: true",
    );
    const { problems, stored } = await outcome(
      "w.yaml",
      future.replace("type: fixed", "type: solved").replaceAll("{timestamp: 2026", "{timestamp: 1926"),
    );
    assert.deepEqual(stored, ["CGA-2222-3333-4444", "CGA-2222-3333-5555"]);
    assert.deepEqual(
      problems.map(({ position }) => position),
      [
        "/advisories/0/events/1/timestamp",
        "/advisories/0/events/2/type",
        ...[0, 1, 2, 3, 4].map((i) => `/advisories/1/events/${i}/timestamp`),
      ],
    );
    const none = await outcome("w.yaml", WOLFI.replaceAll("timestamp: 2026", "timestamp: 1926"));
    assert.deepEqual([none.stored, none.problems.at(-1)?.reason], [[], "no usable events"]);
  });

  test("a score that is not a vector is skipped alone", async () => {
    const severity = [
      "9.8",
      "CVSS:3.1/AV:N",
      "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:X",
      "CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
    ];
    const record = osv({ id: "F-1", severity: severity.map((score) => ({ type: "CVSS_V3", score })) });
    const { problems } = await outcome("f.json", JSON.stringify(record), "vulnerabilities");
    assert.deepEqual(
      problems.map(({ position }) => position),
      ["/severity/0/score", "/severity/1/score", "/severity/2/score"],
    );
    const row = await world.store.reader.selectFrom("vulnerability").select("severities").where("id", "=", "F-1").executeTakeFirst();
    assert.deepEqual(JSON.parse(row?.severities ?? ""), [{ type: "TYPE_CVSS_V3", score: severity[3] }]);
  });

  test("advisories in an import of vulnerabilities are reported", async () => {
    const { problems } = await outcome("s.json", JSON.stringify(SECDB), "vulnerabilities");
    assert.deepEqual(problems, [{ file: "s.json", position: "", reason: "a secdb contains no vulnerabilities" }]);
  });

  test("an advisory that the API would refuse for its size is not imported", async () => {
    const versions = Array.from({ length: 600 }, (_, i) => ({ fixed: `1.0.${i}` }));
    const affected = [{ package: { ecosystem: "npm", name: "many" }, ranges: [{ type: "SEMVER", events: versions }] }];
    const { problems, stored } = await outcome("many.json", JSON.stringify([osv({ id: "G-1", affected }), JSON.parse(good("G-2"))]));
    assert.deepEqual(stored, ["G-2"]);
    assert.deepEqual(problems, [{ file: "many.json", position: "/0", reason: "G-1 of many: must have at most 500 events" }]);
  });

  test("an OSV record with too many versions of a package is reported, and the others are imported", async () => {
    const versions = Array.from({ length: 600 }, (_, i) => ({ introduced: `1.0.${i}` }));
    const ranges = [versions, versions].map((events) => ({ type: "SEMVER", events }));
    const records = [
      osv({ id: "G-1", affected: [{ package: { ecosystem: "npm", name: "many" }, ranges }] }),
      osv({
        id: "G-2",
        affected: [{ package: { ecosystem: "RubyGems", name: "long" }, versions: versions.map((_, i) => `${i}${"x".repeat(230)}`) }],
      }),
      JSON.parse(good("G-3")),
    ];
    const { problems, stored } = await outcome("many.json", JSON.stringify(records));
    assert.deepEqual(stored, ["G-3"]);
    assert.deepEqual(problems, [
      { file: "many.json", position: "/0/affected/0/ranges", reason: "must have at most 1000 events in all ranges of a package" },
      { file: "many.json", position: "/1/affected/0", reason: "the versions of a package must have at most 131072 characters" },
    ]);
  });

  test("an import of a folder follows no links, reads no hidden files and reports empty files", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holt-import-"));
    try {
      await mkdir(join(folder, "in", ".git"), { recursive: true });
      await writeFile(join(folder, "in", "good.json"), good("H-1"));
      await writeFile(join(folder, "in", ".git", "hidden.json"), good("H-2"));
      await writeFile(join(folder, "empty.json"), "");
      await symlink(join(folder, "in"), join(folder, "loop"));
      const parent = await world.group(world.orgUid);
      const { problems } = await importFrom(world, { parent, path: folder });
      assert.deepEqual(problems.map(({ file, reason }) => `${file.replace(folder, "")}: ${reason}`).sort(), [
        "/empty.json: the file is empty",
        "/loop: neither a file nor a folder; links are not followed",
      ]);
      assert.deepEqual(await storedIn(world, parent), ["H-1"]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("an import with very many bad records can be stopped", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error("enough")), 1);
    const many = `[${"0,".repeat(200_000)}0]`;
    await assert.rejects(importFile(world, "bad.json", many, { signal: stop.signal }), /enough/);
  });

  test("product groups that are named very often are reported quickly", async () => {
    const ids = Array.from({ length: 3000 }, (_, index) => `P-${index}`);
    const vulnerability = {
      cve: "CVE-2026-1",
      product_status: { known_affected: ids.slice(0, 2) },
      remediations: Array.from({ length: 2000 }, () => ({ category: "vendor_fix", details: "It is fixed.", group_ids: ["all"] })),
    };
    const { problems } = await outcome(
      "groups.json",
      JSON.stringify({
        document: CSAF.document,
        product_tree: {
          full_product_names: ids.map((id) => ({ product_id: id, name: id })),
          product_groups: [{ group_id: "all", product_ids: ids }],
        },
        vulnerabilities: [vulnerability],
      }),
    );
    assert.deepEqual(new Set(problems.map(({ reason }) => reason)), new Set(["product groups have more than 5000000 products in total"]));
  });

  test("a document with too many problems is skipped", async () => {
    const packages = Array.from({ length: 10_500 }, () => ({ pkg: { name: "p", secfixes: { "1.0-r0": [7] } } }));
    const { problems, stored } = await outcome("many.json", JSON.stringify({ reponame: "main", packages }));
    assert.deepEqual([problems.length, stored], [10_001, []]);
    assert.match(problems.at(-1)?.reason ?? "", /more than 10000 problems/);
  });

  test("documents can be as large as the caller allows", async () => {
    const maxDocumentBytes = 8 * 1024 * 1024;
    await using small = createRecordReader(maxDocumentBytes);
    const reasonFor = async (name: string, content: string) =>
      (await importFile(world, name, content, { reader: small })).problems.map(({ reason }) => reason).join();
    assert.match(await reasonFor("a.json", `${good("L-1")}${" ".repeat(maxDocumentBytes)}`), /larger than 8388608 bytes/);
    assert.match(await reasonFor("a.yaml", `${WOLFI}\n#${"x".repeat(512 * 1024)}`), /YAML must have at most 524288 bytes/);
  });

  test("documents that need much memory to parse do not exhaust it", async () => {
    await using small = createRecordReader(8 * 1024 * 1024);
    const reasonFor = async (name: string, content: string) =>
      (await importFile(world, name, content, { reader: small })).problems.map(({ reason }) => reason).join();
    // Running out of memory would end the whole process.
    for (const element of ["{}", '{"0":0}'])
      assert.match(
        await reasonFor("a.json", `{"id":[${element}${`,${element}`.repeat(8_000_000 / (element.length + 1))}]}`),
        /unrecognized format/,
      );
    assert.notEqual(await reasonFor("a.yaml", `package:\n${"- !t\n".repeat(100_000)}`), "");
  });

  test("a missing group, a missing path and a signal end the import", async () => {
    const gone = `${world.orgUid}/0123456789abcdef`;
    await assert.rejects(importJson(world, osv(), { parent: gone }), /[Nn]ot found/);
    await assert.rejects(importFrom(world, { path: "/nowhere/at/all" }), /^Error: cannot read \/nowhere\/at\/all: no such file or folder$/);
    await assert.rejects(importFile(world, "a", WOLFI, { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
  });
});

async function storedIn(world: World, parent: string): Promise<string[]> {
  const { advisories, total } = await advisoriesOf(world, parent);
  assert.equal(total, advisories.length);
  return [...new Set(advisories.map(({ advisoryId }) => advisoryId))].sort();
}
