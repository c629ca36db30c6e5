/** Tests `holtd import advisories` and `holtd import vulnerabilities` as an operator runs them. */
import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { test } from "node:test";
import { createGzip } from "node:zlib";
import { CVE, osv, SECDB, WOLFI } from "../harness/advisories/import-samples.ts";
import { createInstallation, get, printedToken, runHoltd, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { zipOf } from "../harness/libraries/python-packages.ts";

async function total(baseUrl: string, settings: Settings, path: string): Promise<string> {
  const { json } = await get(baseUrl, path, await printedToken({ ...settings, HOLT_BASE_URL: baseUrl }));
  return (json as { totalCount: string }).totalCount;
}

/** The lines of standard error without the progress lines of a long import. */
function problemsIn(stderr: string): string[] {
  return stderr.split("\n").filter((line) => line !== "" && !/^\d+% \d+ records, /.test(line));
}

test("an import of files and folders is visible at once in a running server", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data") };
  await using server = await startHoltd(settings);
  await mkdir(join(folder.path, "in"));
  await writeFile(join(folder.path, "in", "a.yaml"), WOLFI);
  await writeFile(join(folder.path, "in", "README.md"), "Nothing.");
  await writeFile(join(folder.path, "secdb.json"), JSON.stringify(SECDB));
  const paths = [join(folder.path, "in"), join(folder.path, "secdb.json")];
  const { code, stdout, stderr } = await runHoltd(["import", "advisories", ...paths], settings);
  assert.deepEqual([code, problemsIn(stderr)], [0, []]);
  assert.equal(
    stdout,
    "Read 5 advisories: 5 are new, 0 have changed, 0 were known already.\nProblems: 0. Files without such records: 1.\n",
  );
  assert.equal(await total(server.baseUrl, settings, "/vulnerabilities/v2/advisories"), "5");
  const again = await runHoltd(["import", "advisories", ...paths], settings);
  assert.match(again.stdout, /^Read 5 advisories: 0 are new, 0 have changed, 5 were known already\./);
  const { json } = await get(server.baseUrl, "/advisory/v2/documents?cves=CVE-2026-0001", "");
  assert.equal((json as { documents: unknown[] }).documents.length, 1, "advisories imported on the command line are approved");
});

test("an import reports problems with file and position, and its exit code tells that records were skipped", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data") };
  await createInstallation(settings);
  const path = join(folder.path, "mix.zip");
  await writeFile(
    path,
    zipOf([
      { name: "good.json", content: JSON.stringify(osv()) },
      { name: "evil\u001b[2J.jsonl", content: '{}\n{"id":' },
    ]),
  );
  const { code, stdout, stderr } = await runHoltd(["import", "vulnerabilities", path], settings);
  assert.equal(code, 3);
  assert.match(stdout, /^Read 1 vulnerabilities: 1 are new/);
  const [unknown = "", broken = ""] = problemsIn(stderr);
  assert.equal(unknown, `${path}!evil?[2J.jsonl:line 1: unrecognized format; expected CVE, CSAF, OpenVEX, secdb, Wolfi YAML or OSV`);
  assert.ok(broken.startsWith(`${path}!evil?[2J.jsonl:line 2: not valid JSON`), broken);
});

test("an import accepts the name of a group and explains why it cannot run", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_ORG_NAME: "acme" };
  await createInstallation(settings);
  const path = join(folder.path, "a.yaml");
  await writeFile(path, WOLFI);
  assert.equal((await runHoltd(["import", "advisories", "--group", "acme", path], settings)).code, 0);
  for (const [args, status, text] of [
    [["advisories", "--group", "nobody", path], 1, /there is no group "nobody"/],
    [["advisories", path, join(folder.path, "missing")], 1, /^holtd: cannot read .*missing: no such file or folder\n$/],
    [["advisories"], 2, /name at least one path to import/],
    [["advisories", "--grup", "acme", path], 2, /Unknown option '--grup'/],
    [["vulnerabilities", "--group", "acme", path], 2, /belong to no group/],
    [["nothing", path], 2, /there is no command "import nothing/],
  ] as const) {
    const { code, stderr } = await runHoltd(["import", ...args], settings);
    assert.equal(code, status, args.join(" "));
    assert.match(stderr, text);
  }
  const help = await runHoltd(["import", "advisories", "--help"], settings);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^Usage: holtd import advisories/);
});

test("an import reads files that are much larger than its memory", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: join(folder.path, "data"), NODE_OPTIONS: "--max-old-space-size=80 --max-semi-space-size=4" };
  await createInstallation({ HOLT_DATA_DIR: settings.HOLT_DATA_DIR });
  // The characters are random, so that the compression ratio is not suspicious.
  const noise = Buffer.from(Array.from({ length: 15_000 }, () => Math.floor(Math.random() * 256))).toString("base64");
  const record = (i: number) => JSON.stringify({ ...osv({ id: `BIG-${i % 40}` }), details: noise.slice(i % 40) });
  const count = 6000;
  const path = join(folder.path, "big.jsonl.gz");
  function* lines() {
    for (let i = 0; i < count; i++) yield `${record(i)}\n`;
    yield JSON.stringify(CVE);
  }
  await pipeline(Readable.from(lines()), createGzip({ level: 1 }), createWriteStream(path));
  const lined = await runHoltd(["import", "vulnerabilities", path], settings);
  assert.deepEqual([lined.code, problemsIn(lined.stderr)], [0, []]);
  assert.match(lined.stdout, new RegExp(`^Read ${count + 1} vulnerabilities: 41 are new`));

  const zip = join(folder.path, "big.zip");
  await writeFile(zip, zipOf(Array.from({ length: 4000 }, (_, i) => ({ name: `${i}.json`, content: record(i) }))));
  const zipped = await runHoltd(["import", "vulnerabilities", zip], settings);
  assert.deepEqual([zipped.code, problemsIn(zipped.stderr)], [0, []]);
  assert.match(zipped.stdout, /^Read 4000 vulnerabilities: 0 are new/);
});
