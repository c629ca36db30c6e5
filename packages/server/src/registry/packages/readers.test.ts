import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../../../test/harness/property.ts";
import { readApkDatabase } from "./apk-database.ts";
import { readDpkgStatus } from "./dpkg-status.ts";
import { Unreadable } from "./found-package.ts";
import { readOsRelease } from "./os-release.ts";
import { packageFromEntry, packageFromUrl } from "./package-url.ts";
import { readRpmHeader } from "./rpm-header.ts";
import { readSbom } from "./sbom.ts";

const document = { location: "here", source: "application/spdx+json" };

test("readers accept any text or bytes, and readSbom only throws Unreadable", () => {
  const part = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("P:", "V:", "\n", "\n\n", "Package:", "Status: a b c", "ID=", '"', "pkg:", "@", "?", "%", "{", "[", ":", "purl", "1.0"),
  );
  const text = fc.array(part, { maxLength: 20 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.uint8Array({ maxLength: 200 }), fc.json(), (any, bytes, json) => {
      for (const entry of [...readApkDatabase(any), ...readDpkgStatus(any)]) packageFromEntry(entry, "apk", "here", readOsRelease(any));
      packageFromUrl(any, document);
      packageFromUrl(`pkg:npm/${any}`, document);
      readRpmHeader(bytes);
      for (const content of [Buffer.from(json), Buffer.from(any), bytes]) {
        try {
          [...readSbom(content, { location: "here", subject: undefined })];
        } catch (error) {
          if (!(error instanceof Unreadable)) throw error;
        }
      }
    }),
  );
});

test("the package URL of an entry converts back to the same package", () => {
  const word = fc.string({ minLength: 1 }).filter((text) => !text.includes("/") && text.trim() !== "");
  fc.assert(
    fc.property(word, word, word, word, (name, version, architecture, id) => {
      fc.pre(!["@", "."].includes(name) && !/^\d+:/.test(version));
      const entry = { name, version, architecture, origin: name, originVersion: "", epoch: "" };
      const made = packageFromEntry(entry, "deb", "here", { id: id.toLowerCase(), version: "1" });
      const found = packageFromUrl(made.purl, { location: "here", source: "image" });
      assert.deepEqual(found, made);
    }),
  );
});

test("readOsRelease accepts all ways of quoting, and ignores invalid values", () => {
  assert.deepEqual(readOsRelease('NAME=x\nID="Wolfi"\nVERSION_ID=20230201\n'), { id: "wolfi", version: "20230201" });
  assert.deepEqual(readOsRelease("ID='opensuse-leap'\r\nVERSION_ID='15.6'\r\n"), { id: "opensuse-leap", version: "15.6" });
  assert.deepEqual(readOsRelease("XID=a\nID_LIKE=b\nVERSION_ID=$(rm -rf)\nID=a b\n"), { id: "", version: "" });
});

test("readDpkgStatus reads folded fields, and leaves out packages that are not installed", () => {
  const status = `Package: libssl3
Status: install ok installed
Priority: optional
Architecture: amd64
Multi-Arch: same
Source: openssl (3.0.11-1)
Version: 3.0.11-1~deb12u2
Depends: libc6 (>= 2.34)
Conffiles:
 /etc/ssl/example.cnf 0123456789abcdef0123456789abcdef
Description: example of a description
 Its lines are indented, and a dot stands for an empty one.
 .
 Version: 9 is part of the text here.

Package: removed
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: dpkg
Status: install ok installed
Architecture: amd64
Version: 1.21.22
`;
  assert.deepEqual(
    [...readDpkgStatus(status)],
    [
      { name: "libssl3", version: "3.0.11-1~deb12u2", architecture: "amd64", origin: "openssl", originVersion: "3.0.11-1", epoch: "" },
      { name: "dpkg", version: "1.21.22", architecture: "amd64", origin: "dpkg", originVersion: "", epoch: "" },
    ],
  );
});

test("os-release is read in time that is linear in its size, for any content", () => {
  const before = process.threadCpuUsage();
  for (const text of [`ID=${" ".repeat(65_000)}x`, 'ID="'.repeat(16_000), `ID=a${" \t".repeat(30_000)}x\n`])
    assert.deepEqual(readOsRelease(text), { id: "", version: "" });
  const { user, system } = process.threadCpuUsage(before);
  assert.ok(user + system < 500_000, `${user + system} µs`);
});

test("os-release is read as a shell reads it, but without escapes", () => {
  for (const [text, id, version] of [
    ['NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.20.1\n', "alpine", "3.20.1"],
    ["ID='Wolfi'\r\nVERSION_ID=\"20230201\"  \r\n", "wolfi", "20230201"],
    ["ID=one\nID=two", "two", ""],
    ['ID="a b"\nVERSION_ID=', "", ""],
    ["MY_ID=x\n ID=y\n", "", ""],
  ] as const)
    assert.deepEqual(readOsRelease(text), { id, version });
});
