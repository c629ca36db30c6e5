import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "../../../test/harness/property.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Resource } from "./define.ts";
import { parseOrderBy } from "./order-by.ts";

const resource = { orderBy: ["uid", "name", "create_time", "update_time"], defaultOrder: "uid" } as unknown as Resource;
const NAMES: Readonly<Record<string, string>> = {
  uid: "uid",
  id: "uid",
  name: "name",
  create_time: "create_time",
  createTime: "create_time",
  created_at: "create_time",
  update_time: "update_time",
  updateTime: "update_time",
  updated_at: "update_time",
};
/** Any code units, half surrogate pairs among them. */
const anyText = fc.array(fc.nat({ max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units));
const space = fc.constantFrom(" ", "  ", "\t", " \n ");

describe("order_by", () => {
  test("order_by accepts every name of a column, any direction in any case, and any white space", () => {
    const direction = fc.constantFrom(undefined, "asc", "ASC", "Asc", "desc", "DESC", "Desc");
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(NAMES)), direction, space, fc.constantFrom("", " "), (name, direction, gap, edge) => {
        const text = edge + name + (direction === undefined ? "" : gap + direction) + edge;
        assert.deepEqual(parseOrderBy(text, resource), { column: NAMES[name], descending: direction?.toLowerCase() === "desc" });
      }),
    );
  });

  test("order_by that is empty or blank selects the default order of the resource", () => {
    for (const text of ["", " ", "\t\n"]) assert.deepEqual(parseOrderBy(text, resource), { column: "uid", descending: false });
    assert.equal(parseOrderBy("", { ...resource, defaultOrder: "name" }).column, "name");
  });

  test("order_by with any other text is refused, so that only column names reach a query", () => {
    const known = fc.constantFrom(...Object.keys(NAMES), "asc", "desc", "body", "parent", "rowid", "__proto__", "constructor", "NAME", ",");
    const words = fc.array(fc.oneof(known, fc.string()), { minLength: 1, maxLength: 4 }).map((parts) => parts.join(" "));
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(words, anyText), (text) => {
        const [name = "", direction = "asc", ...rest] = text.split(/\s+/).filter((word) => word !== "");
        const isGood = name === "" || (Object.hasOwn(NAMES, name) && /^(asc|desc)$/i.test(direction) && rest.length === 0);
        if (isGood) {
          assert.ok(resource.orderBy.includes(parseOrderBy(text, resource).column));
          return;
        }
        refused++;
        assert.throws(
          () => parseOrderBy(text, resource),
          (error) =>
            error instanceof HoltError && error.code === Code.INVALID_ARGUMENT && error.details.fieldViolations?.[0]?.field === "order_by",
        );
      }),
      { numRuns: 2000 },
    );
    assert.ok(refused > 500);
  });

  test("order_by accepts an alias only if the resource has the column that it stands for", () => {
    assert.throws(() => parseOrderBy("created_at", { ...resource, orderBy: ["uid"] }), HoltError);
  });

  test("order_by accepts group as an alias of the uid only if the resource has the uid of its group", () => {
    assert.deepEqual(parseOrderBy("group desc", { ...resource, hasUidOfGroup: true }), { column: "uid", descending: true });
    assert.throws(() => parseOrderBy("group", resource), HoltError);
  });
});
