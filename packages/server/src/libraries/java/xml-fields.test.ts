/** Which texts of an XML document are found, and that finding them takes linear time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readXmlFields } from "./xml-fields.ts";

const refusal = (reason: string) => new Error(reason);
const read = (text: string) =>
  Object.fromEntries(readXmlFields(Buffer.from(text), { root: "project", fields: ["name", "parent", "parent/version"], refusal }));

test("the first element at a path counts, and elements elsewhere with its name do not", () => {
  const text = "<a:name>one</a:name><x><name>two</name></x><name>three</name><parent>p<version> 1 </version>q<y/>r</parent>";
  assert.deepEqual(read(`<project>${text}</project>`), { name: "one", "parent/version": "1", parent: "r" });
  assert.deepEqual(read("<project><name/><name>two</name></project>"), { name: "" });
  assert.deepEqual(read("<project><name>a<![CDATA[b]]>&amp;&eacute;</name></project>"), { name: "ab&é" });
});

test("documents with another root, too deep, or with too many elements or attributes are refused", () => {
  for (const [text, reason] of [
    ["<pom/>", /root element is not <project>/],
    [`<project>${"<a>".repeat(100)}`, /more than 100 levels/],
    [`<project>${"<a/>".repeat(300_000)}</project>`, /more than 300000 elements/],
    [`<project ${Array.from({ length: 1001 }, (_, i) => `a${i}=""`).join(" ")}/>`, /more than 1000 attributes/],
    ["<!DOCTYPE x><project/>", /document types/],
  ] as const)
    assert.throws(() => read(text), reason);
});

test("elements in a deep place with long names take no longer than others", () => {
  const cpuMsOf = (open: string, close: string) => {
    const text = `<project>${open}${"<a/>".repeat(50_000)}${close}</project>`;
    const before = process.threadCpuUsage();
    read(text);
    return process.threadCpuUsage(before).user / 1000;
  };
  cpuMsOf("", "");
  const name = "n".repeat(1000);
  const shallow = cpuMsOf("", "");
  const deep = cpuMsOf(`<${name}>`.repeat(90), `</${name}>`.repeat(90));
  assert.ok(deep < 5 * shallow + 100, `${deep} ms, ${shallow} ms`);
});
