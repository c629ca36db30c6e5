import assert from "node:assert/strict";
import { test } from "node:test";
import { createImportReport } from "./import-report.ts";

function output(isTTY: boolean) {
  const written: string[] = [];
  return { written, isTTY, columns: 59, write: (text: string) => written.push(text) > 0 };
}

test("a terminal has one line that changes and goes, and problems above it", () => {
  const terminal = output(true);
  {
    let now = 0;
    using report = createImportReport(terminal, "files", () => now);
    report.begin(2_000_000);
    now = 100;
    report.progress({ files: 3, bytes: 1_000_000, problems: 1 });
    report.progress({ files: 4, bytes: 1_000_000, problems: 1 });
    report.problem("a/b.whl", "it is no wheel");
  }
  assert.deepEqual(terminal.written, [
    "\r\x1b[2K[############------------] 50% 3 files, 1.0 MB of 2.0 MB, ",
    "\r\x1b[2Ka/b.whl: it is no wheel\n",
    "\r\x1b[2K",
  ]);
});

test("elsewhere there are lines only, in which nothing moves a cursor", () => {
  const file = output(false);
  {
    using report = createImportReport(file, "files", () => 0);
    report.begin(0);
    report.progress({ files: 1, bytes: 0, problems: 0 });
    report.problem("a\x1b[2J\r\n\u202eb", "it is\x07 bad");
  }
  assert.deepEqual(file.written, ["a?[2J???b: it is? bad\n"]);
});
