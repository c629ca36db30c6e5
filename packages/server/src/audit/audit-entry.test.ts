import assert from "node:assert/strict";
import { test } from "node:test";
import { type AuditFacts, contentOf } from "./audit-entry.ts";

const FACTS: AuditFacts = { now: new Date(0), action: "delete", actor: "a", target: "t", organization: "o", outcome: "OK" };

function detailsOf(changes: number): { omitted?: string; changes: { before?: { name: string } }[] } {
  const before = JSON.stringify({ name: "n".repeat(150) });
  const content = contentOf({ ...FACTS, changes: Array.from({ length: changes }, (_, i) => ({ kind: "Group", uid: `${i}`, before })) });
  return JSON.parse(content).details;
}

test("an entry has the fields of all its changes up to 512 KiB, and above only names of at most 5,000 resources", () => {
  const few = detailsOf(1000);
  assert.deepEqual([few.omitted, few.changes.length, few.changes[999]?.before?.name.length], [undefined, 1000, 150]);
  const many = detailsOf(3000);
  assert.deepEqual([many.omitted, many.changes.length, many.changes[2999]], ["fields", 3000, { resource: "Group", uid: "2999" }]);
  assert.equal(detailsOf(6000).changes.length, 5000);
});
