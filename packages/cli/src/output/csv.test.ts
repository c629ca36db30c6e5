import assert from "node:assert/strict";
import { test } from "node:test";
import { csv } from "./csv.ts";

const columns = [{ title: "Name", value: (row: Record<string, unknown>) => row.name }];

function cellOf(name: unknown): string {
  return csv([{ name }], columns).split("\r\n")[1] as string;
}

test("a stored name in CSV cannot become a formula of a spreadsheet", () => {
  assert.deepEqual(["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1"].map(cellOf), ["'=1+1", "'+1", "'-1+1", "'@SUM(A1)", "'\t=1"]);
  assert.equal(cellOf('=HYPERLINK("https://evil.test")'), `"'=HYPERLINK(""https://evil.test"")"`);
});

test("CSV keeps numbers, and texts that only contain signs", () => {
  assert.deepEqual([-5, "a=b", "my-org"].map(cellOf), ["-5", "a=b", "my-org"]);
});
