import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
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

test("no text or bytes make a reader fail, but for what is no SBOM", () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("P:", "V:", "\n", "\n\n", "Package:", "Status: a b c", "ID=", '"', "pkg:", "@", "?", "%", "{", "[", ":", "purl", "1.0"),
  );
  const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(""));
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

test("the package URL of an entry leads back to it", () => {
  const word = fc.string({ minLength: 1 }).filter((text) => !text.includes("/") && text.trim() !== "");
  fc.assert(
    fc.property(word, word, word, word, (name, version, architecture, id) => {
      fc.pre(!["@", "."].includes(name) && !/^\d+:/.test(version));
      const entry = { name, version, architecture, origin: name, epoch: "" };
      const made = packageFromEntry(entry, "deb", "here", { id: id.toLowerCase(), version: "1" });
      const found = packageFromUrl(made.purl, { location: "here", source: "image" });
      assert.deepEqual(found, made);
    }),
  );
});

test("os-release is read however its values are quoted, and what is no word is not believed", () => {
  assert.deepEqual(readOsRelease('NAME=x\nID="Wolfi"\nVERSION_ID=20230201\n'), { id: "wolfi", version: "20230201" });
  assert.deepEqual(readOsRelease("ID='opensuse-leap'\r\nVERSION_ID='15.6'\r\n"), { id: "opensuse-leap", version: "15.6" });
  assert.deepEqual(readOsRelease("XID=a\nID_LIKE=b\nVERSION_ID=$(rm -rf)\nID=a b\n"), { id: "", version: "" });
});

test("the status of a real dpkg is read, where there is one", {
  skip: !existsSync("/var/lib/dpkg/status") && "this machine has none",
}, () => {
  const entries = [...readDpkgStatus(readFileSync("/var/lib/dpkg/status", "utf8"))];
  assert.ok(entries.some(({ name, version, architecture }) => name === "dpkg" && version !== "" && architecture !== ""));
  for (const { name, version } of entries) assert.ok(name !== "" && version !== "", name);
});
