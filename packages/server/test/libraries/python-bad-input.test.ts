/** Invalid uploads: each is refused with one sentence and leaves nothing behind, and the next upload works. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { startServer, type TestServer } from "../harness/harness.ts";
import {
  FORM_TYPE,
  formOf,
  type PythonFile,
  sdist,
  tarGzOf,
  upload,
  wheel,
  wheelEntries,
  zipOf,
} from "../harness/libraries/python-packages.ts";
import { type Answer, answerOf, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { tarHeader } from "../harness/robustness/hostile-archives.ts";
import { giveTime, until } from "../harness/wait.ts";

const OWNER = "my-org";
const WHEEL = "demo-1.0-py3-none-any.whl";
const SDIST = "demo-1.0.tar.gz";
let server: TestServer;
let client: RegistryClient;
let published = 0;
before(async () => {
  server = await startServer();
  client = createRegistryClient(server.baseUrl, `Bearer ${server.token}`);
});
after(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});
afterEach(async () => {
  assert.deepEqual(await stored(), { uploads: 0, blobs: published, rows: published, artifacts: Math.min(published, 1) });
  const answer = await upload(client, OWNER, wheel({ name: "good", version: `1.${published++}` }));
  assert.equal(answer.status, 200, answer.body.toString());
});

/** Counts the files in the folders and the rows in the tables. */
async function stored(): Promise<object> {
  const blobs = readdirSync(join(server.dataDir, "blobs"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const { reader } = server.store;
  const rowsOf = async (table: "blob" | "library_artifact") =>
    Number((await reader.selectFrom(table).select(reader.fn.countAll<number>().as("n")).executeTakeFirstOrThrow()).n);
  return {
    uploads: readdirSync(join(server.dataDir, "uploads")).length,
    blobs: blobs.filter(({ name }) => name !== "id").length,
    rows: await rowsOf("blob"),
    artifacts: await rowsOf("library_artifact"),
  };
}

function assertRefused(answer: Answer, reason: RegExp, status = 400): void {
  assert.deepEqual([answer.status, answer.headers["content-type"]], [status, "text/plain; charset=utf-8"], answer.body.toString());
  assert.match(answer.body.toString(), reason);
}

async function assertRefusedFile(file: PythonFile, reason: RegExp, fields?: Record<string, string | undefined>): Promise<void> {
  assertRefused(await upload(client, OWNER, file, fields), reason);
}

test("a package is refused if its file name, form and metadata disagree", async () => {
  const { bytes } = wheel();
  for (const [fileName, reason] of [
    ["other-1.0-py3-none-any.whl", /the folder "demo-1.0.dist-info" belongs to another package/],
    ["demo-1.1-py3-none-any.whl", /belongs to another package/],
  ] as const)
    await assertRefusedFile({ fileName, bytes }, reason);
  const lying = wheelEntries({}).map((entry) => ({ ...entry, content: String(entry.content).replace("Name: demo", "Name: other") }));
  await assertRefusedFile({ fileName: WHEEL, bytes: zipOf(lying) }, /the file name says "demo", but the metadata says "other"/);
  const older = wheelEntries({}).map((entry) => ({ ...entry, content: String(entry.content).replace("Version: 1.0\n", "Version: 1.2\n") }));
  await assertRefusedFile(
    { fileName: WHEEL, bytes: zipOf(older) },
    /the file name says version 1\.0, but the metadata says 1\.2|Metadata-Version/,
  );
  await assertRefusedFile(wheel(), /the form says "other"/, { name: "other" });
  await assertRefusedFile(wheel(), /the form says "2\.0"/, { version: "2.0" });
  await assertRefusedFile({ fileName: "other-1.0.tar.gz", bytes: (await sdist()).bytes }, /must have PKG-INFO/);
});

test("a wheel is refused if its file name and its WHEEL file have different tags", async () => {
  for (const [tags, lines, reason] of [
    ["py3-none-any", ["cp312-cp312-linux_x86_64"], /the file name has the tag "py3-none-any", but WHEEL has "cp312-cp312-linux_x86_64"/],
    ["py2.py3-none-any", ["py3-none-any"], /has the tag "py2-none-any", but WHEEL has "py3-none-any"/],
    ["py3-none-any", ["py2-none-any", "py3-none-any"], /has the tags "py3-none-any", but WHEEL also has "py2-none-any"/],
    [
      "cp312-cp312-manylinux1_x86_64",
      ["", "-manylinux1_x86_64"],
      /has the tag "cp312-cp312-manylinux1_x86_64", but WHEEL has "-manylinux1_x86_64"/,
    ],
    ["py3-none-any", ["{tag}"], /but WHEEL has "\{tag\}"/],
    ["py3-none-any", [`${"a.".repeat(500)}a-${"a.".repeat(500)}a-any`], /WHEEL has more than 10000 tags/],
  ] as const)
    await assertRefusedFile(wheel({ tags, wheel: lines.map((line) => `Tag: ${line}`) }), reason);
});

test("an upload is refused if its digests are not those of the file", async () => {
  await assertRefusedFile(wheel(), /sha256_digest: the received file has [0-9a-f]{64}/, { sha256_digest: "0".repeat(64) });
  await assertRefusedFile(wheel(), /md5_digest/, { md5_digest: "0".repeat(32) });
});

test("an upload with an invalid file name is refused", async () => {
  const { bytes } = wheel();
  for (const fileName of [
    "",
    "../demo-1.0-py3-none-any.whl",
    "a/demo-1.0-py3-none-any.whl",
    "demo-1.0.whl",
    "demo-1.0-py3-none.whl",
    "demo-1.0-x1-py3-none-any.whl",
    "demo-1.0-1-2-py3-none-any.whl",
    "demo-one-py3-none-any.whl",
    "demo-1.0-py3-none-.whl",
    "demo-1.0.zip",
    "demo-1.0.exe",
    "demo.tar.gz",
    ".demo-1.0.tar.gz",
    `${"d".repeat(300)}-1.0.tar.gz`,
  ])
    assert.equal((await upload(client, OWNER, { fileName, bytes })).status, 400, fileName);
});

test("archives that are malformed, cut off, or lead out of their folder are refused", async () => {
  const good = wheel().bytes;
  const source = (await sdist()).bytes;
  for (const bytes of [
    Buffer.from(""),
    Buffer.from("not an archive"),
    good.subarray(0, -10),
    good.subarray(0, 100),
    Buffer.concat([good, good]),
  ])
    assert.equal((await upload(client, OWNER, { fileName: WHEEL, bytes })).status, 400);
  for (const bytes of [Buffer.from(""), Buffer.from("not an archive"), source.subarray(0, -10), gzipSync("no tar"), gzipSync(source)])
    assert.equal((await upload(client, OWNER, { fileName: SDIST, bytes })).status, 400);
  for (const name of ["../evil.py", "/etc/passwd", "demo/../../evil.py", "C:\\evil.py"]) {
    const entries = [...wheelEntries({}), { name, content: "" }];
    await assertRefusedFile({ fileName: WHEEL, bytes: zipOf(entries) }, /leads out of the archive/);
    const tar = await tarGzOf([
      { name: "demo-1.0/PKG-INFO", content: "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n" },
      { name, content: "" },
    ]);
    if (name !== "C:\\evil.py") await assertRefusedFile({ fileName: SDIST, bytes: tar }, /leads out of the archive/);
  }
});

test("wheels with an entry that has two paths are refused", async () => {
  for (const [name, unicodeName, reason] of [
    ["../../evil.py", "demo/x.py", /leads out of the archive/],
    ["demo/x.py", "../../evil.py", /leads out of the archive/],
    ["demo/x.py", "demo-1.0.dist-info/METADATA", /an entry has two paths/],
  ] as const)
    await assertRefusedFile({ fileName: WHEEL, bytes: zipOf([...wheelEntries({}), { name, unicodeName, content: "" }]) }, reason);
});

test("source distributions whose links lead out of their folder are refused", async () => {
  const withLink = (name: string, linkname: string, type: "symlink" | "link" = "symlink") =>
    tarGzOf([
      { name: "demo-1.0/PKG-INFO", content: "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n" },
      { name, content: "", link: { type, to: linkname } },
    ]);
  for (const bytes of [
    await withLink("demo-1.0/a", "/etc/passwd"),
    await withLink("demo-1.0/a", "../../etc/passwd"),
    await withLink("demo-1.0/deep/er/a", "../../../../b"),
    await withLink("demo-1.0/a", "x/../../../b"),
    await withLink("demo-1.0/a", "../b"),
    await withLink("demo-1.0/a", "../b", "link"),
  ])
    await assertRefusedFile({ fileName: SDIST, bytes }, /a link leads out of its folder: "demo-1\.0\//);
  // Links within the folder are allowed: these archives are refused for another reason.
  for (const bytes of [await withLink("demo-1.0/deep/a", "../b"), await withLink("demo-1.0/a", "demo-1.0/b", "link")])
    await assertRefusedFile({ fileName: "other-1.0.tar.gz", bytes }, /must have PKG-INFO/);
});

test("source distributions with links or files that leave their folder through another link are refused", async () => {
  const symlink = (name: string, to: string) => ({ name, content: "", link: { type: "symlink", to } as const });
  const hardLink = (name: string, to: string) => ({ name, content: "", link: { type: "link", to } as const });
  const withEntries = (...entries: Parameters<typeof tarGzOf>[0]) =>
    tarGzOf([{ name: "demo-1.0/PKG-INFO", content: "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n" }, ...entries]);
  const up = symlink("demo-1.0/a/up", "..");
  for (const [bytes, reason] of [
    [await withEntries(up, symlink("demo-1.0/out", "a/up/../..")), /a link leads out of its folder: "demo-1\.0\/out"/],
    [await withEntries(up, hardLink("demo-1.0/out", "demo-1.0/a/up")), /a link leads out of its folder: "demo-1\.0\/out"/],
    [await withEntries(up, { name: "demo-1.0/a/up/../evil", content: "" }), /leads out of the archive/],
    [await withEntries(up, { name: "./demo-1.0//a/up/evil", content: "" }), /leads through a symbolic link/],
    [await withEntries(up, symlink("demo-1.0/a/up/out", "..")), /leads through a symbolic link/],
    [await withEntries(symlink("demo-1.0/a", "b"), { name: "demo-1.0/a", content: "" }), /leads through a symbolic link/],
  ] as const)
    await assertRefusedFile({ fileName: SDIST, bytes }, reason);
  const harmless = [
    up,
    symlink("demo-1.0/b/c/d", "../../a/./file"),
    symlink("demo-1.0/a/up", ".."),
    hardLink("demo-1.0/e", "demo-1.0/PKG-INFO"),
  ];
  await assertRefusedFile({ fileName: "other-1.0.tar.gz", bytes: await withEntries(...harmless) }, /must have PKG-INFO/);
});

test("a source distribution with a global header is refused only if the header renames its entries", async () => {
  const block = (text: string) => Buffer.concat([Buffer.from(text), Buffer.alloc(-Buffer.byteLength(text) & 511)]);
  const file = (name: string, text: string, type = "0") => Buffer.concat([tarHeader(name, Buffer.byteLength(text), type), block(text)]);
  const info = file("demo-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n");
  const withHeader = (field: string) =>
    gzipSync(Buffer.concat([file("pax", `${field.length + 4} ${field}\n`, "g"), info, Buffer.alloc(1024)]));
  for (const field of ["path=demo-1.0/../../evil", "linkpath=/etc/passwd", "size=00000000000"])
    await assertRefusedFile({ fileName: SDIST, bytes: withHeader(field) }, /a global header of the archive/);
  // Tools write the commit of the sources there: this archive is refused for another reason.
  const bytes = withHeader(`comment=${"0".repeat(40)}`);
  await assertRefusedFile({ fileName: "other-1.0.tar.gz", bytes }, /must have PKG-INFO/);
});

test("source distributions that other tools read as other entries are refused", async () => {
  const header = (name: string, type = "0", fields?: Readonly<Record<number, string>>) => tarHeader(name, 0, type, fields);
  const file = (name: string, text: string, type = "0", fields?: Readonly<Record<number, string>>) =>
    Buffer.concat([tarHeader(name, text.length, type, fields), Buffer.from(text), Buffer.alloc(-text.length & 511)]);
  const pax = (...fields: string[]) => fields.map((field) => `${field.length + (field.length < 7 ? 3 : 4)} ${field}\n`).join("");
  const withEntries = (...entries: Buffer[]) => {
    const info = file("demo-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n");
    return gzipSync(Buffer.concat([info, ...entries, Buffer.alloc(1024)]));
  };
  const gnu = { 257: "ustar  \0" };
  const ok = file("demo-1.0/ok", "ok");
  const hidden = file("../evil", "evil");
  const hiddenSize = { 124: "00000002000\0" };
  for (const [reason, ...entries] of [
    [/an entry is a sparse file/, file("x", pax("GNU.sparse.name=../evil"), "x"), ok],
    [/an entry that is not a file has content/, header("demo-1.0/link", "2", { ...hiddenSize, 157: "ok" }), hidden],
    [/an entry that is not a file has content/, header("demo-1.0/link", "1", { ...hiddenSize, 157: "demo-1.0/PKG-INFO" }), hidden],
    [/an entry that is not a file has content/, header("demo-1.0/folder/", "\0", hiddenSize), hidden],
    [/has content/, file("x", pax("size=1024"), "x"), header("demo-1.0/link", "2", { 157: "ok" }), hidden],
    [/an entry has a type that not all tools know/, file("x", pax("path=../evil"), "X"), ok],
    [/an entry has two paths/, file("L", "../evil\0", "L"), file("x", pax("path=demo-1.0/ok"), "x"), ok],
    [
      /an entry has two paths/,
      file("K", "../evil\0", "K"),
      file("x", pax("linkpath=ok"), "x"),
      header("demo-1.0/link", "2", { 157: "ok" }),
    ],
    [/an entry has two extended headers/, file("x", pax("path=../evil"), "x"), file("x", pax("mtime=1"), "x"), ok],
    [/an entry has an empty path/, file("x", pax("path="), "x"), ok],
    [/an extended header is empty/, header("x", "x"), ok],
    [/an extended header is malformed/, file("x", "9999 path=../evil\n", "x"), ok],
    [/a header in the format of GNU tar has a prefix/, file("evil", "evil", "0", { ...gnu, 345: ".." })],
    [/the size of an entry is not a number/, file("x", pax("size=1024z"), "x"), header("demo-1.0/ok"), hidden],
    [/the size of an entry is not a number/, header("demo-1.0/ok", "0", { 124: "00000_02000\0" }), hidden],
    [/the size of an entry is not a number/, header("demo-1.0/ok", "0", { 124: "\x0000000002000" }), hidden],
    [/a global header of the archive/, file("g", pax("path=../evil"), "g"), file("g", pax("comment=1"), "g"), ok],
    [/bytes follow the end of the archive/, Buffer.alloc(1024), ok],
  ] as const)
    await assertRefusedFile({ fileName: SDIST, bytes: withEntries(...entries) }, reason);
  // Tools write all of these: the archive is refused for another reason.
  const bytes = withEntries(
    file("L", `demo-1.0/${"l".repeat(200)}\0`, "L", gnu),
    file("long", "text", "0", gnu),
    file("K", `${"l".repeat(200)}\0`, "K", gnu),
    header("demo-1.0/link", "2", { ...gnu, 157: "l" }),
    file("x", pax("path=demo-1.0/path", "mtime=1.5", "size=2"), "x"),
    ok,
    header("demo-1.0/folder/", "5", { 124: "        0 \0" }),
    header("demo-1.0/base256", "0", { 124: "\x80\0\0\0\0\0\0\0\0\0\0\0" }),
    Buffer.alloc(9 * 1024),
  );
  await assertRefusedFile({ fileName: "other-1.0.tar.gz", bytes }, /must have PKG-INFO/);
});

test("archives that expand to many times their size are refused", async () => {
  const zeros = Buffer.alloc(70 * 1024 * 1024);
  await assertRefusedFile({ fileName: WHEEL, bytes: zipOf([...wheelEntries({}), { name: "zeros", content: zeros }]) }, /50 times/);
  await assertRefusedFile({ fileName: SDIST, bytes: await tarGzOf([{ name: "demo-1.0/zeros", content: zeros }]) }, /50 times/);
  const huge = wheel({ description: "words ".repeat(1_000_000) });
  await assertRefusedFile(huge, /METADATA is larger/);
  await assertRefusedFile(wheel({ wheel: ["Generator: words ".repeat(300_000)] }), /WHEEL is larger/);
  await assertRefusedFile(await sdist({ description: "words ".repeat(1_000_000) }), /PKG-INFO is larger/);
  const lying = wheelEntries({ description: "words ".repeat(1_000_000) }).map((entry) => ({ ...entry, claimedSize: 100 }));
  await assertRefusedFile({ fileName: WHEEL, bytes: zipOf(lying) }, /damaged content/);
});

test("packages whose metadata is missing, duplicate or malformed are refused", async () => {
  const entries = wheelEntries({});
  for (const missing of ["METADATA", "WHEEL", "RECORD"])
    await assertRefusedFile({ fileName: WHEEL, bytes: zipOf(entries.filter(({ name }) => !name.endsWith(missing))) }, /must have METADATA/);
  await assertRefusedFile({ fileName: WHEEL, bytes: zipOf([...entries, entries[1]!]) }, /METADATA occurs more than once/);
  const withMetadata = (content: string | Buffer) =>
    zipOf(entries.map((entry) => (entry.name.endsWith("METADATA") ? { ...entry, content } : entry)));
  for (const content of [
    "",
    "no metadata",
    "Name: demo\nVersion: 1.0\n",
    "Metadata-Version: 3.0\nName: demo\nVersion: 1.0\n",
    "Metadata-Version: 2.1\nName: demo\nName: demo\nVersion: 1.0\n",
    "Metadata-Version: 2.1\nName: -demo\nVersion: 1.0\n",
    "Metadata-Version: 2.1\nName: demo\nVersion: one\n",
    "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Python: <script>\n",
    " Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
    Buffer.from("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nSummary: \xff\n", "latin1"),
  ])
    await assertRefusedFile({ fileName: WHEEL, bytes: withMetadata(content) }, /metadata cannot be used/);
});

test("malformed forms and other content types are refused", async () => {
  const path = `/libraries/python/${OWNER}/`;
  const send = (body: Buffer | string, type = FORM_TYPE) => client.send("POST", path, { headers: { "content-type": type }, body });
  const form = formOf(wheel());
  assertRefused(await send(form, "application/octet-stream"), /multipart\/form-data/, 415);
  assertRefused(await send(form, "multipart/form-data; charset=x"), /no boundary/);
  assertRefused(await send(form, "multipart/form-data; boundary=other"), /the form/);
  assertRefused(await send(""), /the form/);
  assertRefused(await send(form.subarray(0, form.length - 200)), /cut off/);
  assertRefused(await send(form.subarray(0, 100)), /cut off/);
  for (const [action, reason] of [
    [undefined, /file_upload/],
    ["submit", /file_upload/],
    ["x".repeat(5000), /longer than/],
  ] as const)
    await assertRefusedFile(wheel(), reason, { ":action": action });
  const empty = form
    .toString("latin1")
    .replace(/--[^\r]*\r\nContent-Disposition: form-data; name="content"[\s\S]*(?=\r\n--[^\r]*--\r\n$)/, "");
  assertRefused(await send(Buffer.from(empty, "latin1")), /no file|cut off/);
  const text = form.toString("latin1");
  const start = text.indexOf("\r\n--", text.indexOf('name="sha256_digest"'));
  const twice = text.slice(0, text.lastIndexOf("\r\n--")) + text.slice(start);
  assertRefused(await send(Buffer.from(twice, "latin1")), /more than one file|more than once/);
});

test("an upload whose client disconnects leaves nothing behind", async () => {
  const form = formOf(wheel({ code: "x".repeat(10) }));
  for (const length of [50, form.length - 300]) {
    const request = client.open("POST", `/libraries/python/${OWNER}/`, {
      "content-type": FORM_TYPE,
      "content-length": String(form.length),
    });
    const failed = answerOf(request).catch(() => undefined);
    request.write(form.subarray(0, length));
    await giveTime(100);
    request.destroy();
    await failed;
  }
  await until(() => readdirSync(join(server.dataDir, "uploads")).length === 0);
});

test("a form may have unknown fields, in any order and of any size", async () => {
  const file = wheel({ name: "good", version: `1.${published}.1` });
  const fields = { description: "words ".repeat(200_000), blake2_256_digest: "nonsense", comment: "", filetype: "bdist_wheel" };
  assert.equal((await upload(client, OWNER, file, fields)).status, 200);
  published++;
});
