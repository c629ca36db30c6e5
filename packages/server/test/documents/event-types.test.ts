/** Tests that the documents list the type of every event that an operation of the contract emits. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { getOption, hasOption } from "@bufbuild/protobuf";
import { events } from "@holt/api";
import { operations } from "../harness/contract.ts";

const DOCS = join(import.meta.dirname, "../../../../docs");
/** The server emits it by itself. */
const WITHOUT_OPERATION = new Set(["api.holt.pull_token.expiring.v1"]);

const emitted = new Set(
  operations.filter(({ method, isServed }) => isServed && hasOption(method, events)).map(({ method }) => getOption(method, events).type),
);

test("the documents list the type of every event of a served operation", async () => {
  const listed = new Set([...(await typesIn("events.md", "All events")), ...(await typesIn("accounts.md", "Events"))]);
  assert.ok(emitted.size > 50, [...emitted].join());
  assert.deepEqual(
    [...emitted].filter((type) => !listed.has(type)),
    [],
  );
});

test("docs/events.md lists no event of an operation that does not exist", async () => {
  const ofOperations = (await typesIn("events.md", "All events")).filter((type) => type.startsWith("api."));
  assert.deepEqual(
    ofOperations.filter((type) => !emitted.has(type) && !WITHOUT_OPERATION.has(type)),
    [],
  );
});

/** Types in the first table below the heading. A type like `.updated.v1` replaces the end of the whole type before it. */
async function typesIn(page: string, heading: string): Promise<string[]> {
  const text = await readFile(join(DOCS, page), "utf8");
  const [, section = ""] = text.split(`\n## ${heading}\n`);
  const [table = ""] = /(?:^\|.*\n)+/m.exec(section) ?? [];
  const types: string[] = [];
  let whole = "";
  for (const [, type = ""] of table.matchAll(/`([a-z_.]+\.v1)`/g)) {
    if (!type.startsWith(".")) whole = type;
    const kept = whole.split(".").slice(0, -(type.split(".").length - 1));
    types.push(type === whole ? type : `${kept.join(".")}${type}`);
  }
  return types;
}
