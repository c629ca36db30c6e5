import assert from "node:assert/strict";
import { test } from "node:test";
import { splitPostgresUrl } from "./postgres-url.ts";

test("a URL with several hosts becomes one URL for each host", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["postgres://u:p@a/db", ["postgres://u:p@a/db"]],
    ["postgres://u:p@a,b/db?target_session_attrs=read-write", ["postgres://u:p@a/db", "postgres://u:p@b/db"]],
    [
      "postgres://u:%2C@a:1,[::1]:2/db?sslmode=require&target_session_attrs=primary",
      ["postgres://u:%2C@a:1/db?sslmode=require", "postgres://u:%2C@[::1]:2/db?sslmode=require"],
    ],
    ["postgres://u:p,@w@a/db", ["postgres://u:p,@w@a/db"]],
    ["postgresql://a,b,c/db", ["postgresql://a/db", "postgresql://b/db", "postgresql://c/db"]],
    ["nonsense", ["nonsense"]],
  ];
  for (const [text, hosts] of cases) assert.deepEqual(splitPostgresUrl(text), { hosts, problem: undefined });
});

test("a URL that asks for hosts without writes is a problem", () => {
  for (const value of ["any", "standby", "prefer-standby", "read-only", ""]) {
    assert.match(splitPostgresUrl(`postgres://a,b/db?target_session_attrs=${value}`).problem ?? "", /must be read-write or primary/);
  }
});
