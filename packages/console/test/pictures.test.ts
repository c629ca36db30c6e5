/** The pictures of docs/console.md. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../../..");
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

test("docs/console.md shows a picture of each screen, and no other picture is kept", () => {
  const paths = [...textOf("packages/console/src/app/screens.ts").matchAll(/\bpath: "\/(.*?)(?:\/\$)?"/g)];
  const names = paths.map(([, name = ""]) => `console-${name === "" ? "home" : name}.webp`);
  const shown = [...textOf("docs/console.md").matchAll(/\]\(images\/(.*?)\)/g)].map(([, file = ""]) => file);
  assert.deepEqual(
    names.filter((name) => !shown.includes(name)),
    [],
  );
  assert.deepEqual(readdirSync(join(root, "docs/images")).sort(), [...new Set(shown)].sort());
});
