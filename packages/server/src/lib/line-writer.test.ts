import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LineWriter } from "./line-writer.ts";

function recorder() {
  const written: string[] = [];
  let arrived = (): void => {};
  const first = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const sink = {
    sync: false,
    destroyed: false,
    write: (text: string) => {
      written.push(text);
      arrived();
    },
    flushSync: () => void written.push(sink.sync ? "(flushed)" : "(not flushed)"),
  };
  return { written, first, sink };
}

describe("the writer of log lines", () => {
  it("the writer of log lines writes the lines of a moment together and in their order", async () => {
    const { written, first, sink } = recorder();
    const writer = new LineWriter(sink);
    for (const line of ["a\n", "b\n", "c\n"]) writer.write(line);
    assert.deepEqual(written, []);
    await first;
    assert.deepEqual(written, ["a\nb\nc\n"]);
  });

  it("the writer of log lines writes a warning at once, after the lines before it", () => {
    const { written, sink } = recorder();
    const writer = new LineWriter(sink);
    writer.write("a\n");
    writer.lastLevel = 40;
    writer.write("warning\n");
    assert.deepEqual(written, ["a\nwarning\n"]);
  });

  it("the writer of log lines writes a full batch without waiting", () => {
    const { written, sink } = recorder();
    const writer = new LineWriter(sink);
    const line = `${"x".repeat(999)}\n`;
    for (let i = 0; i < 40; i++) writer.add(line);
    assert.ok(written.length >= 2);
    for (const text of written) assert.ok(text.length <= 16 * 1024, `${text.length}`);
    writer.passOn();
    assert.equal(written.join(""), line.repeat(40));
  });

  it("the writer of log lines writes everything when the process exits, also what is logged later", () => {
    const { written, sink } = recorder();
    const writer = new LineWriter(sink);
    writer.add("a\n");
    writer.exit();
    assert.deepEqual(written.splice(0), ["a\n", "(flushed)"]);
    writer.add("b\n");
    assert.deepEqual(written, ["b\n", "(flushed)"]);
  });

  it("the writer of log lines writes everything before it reports that it has flushed, and then collects lines again", () => {
    const { written, sink } = recorder();
    const writer = new LineWriter(sink);
    writer.add("a\n");
    let isDone = false;
    writer.flush(() => {
      isDone = true;
    });
    assert.deepEqual([written, isDone, sink.sync], [["a\n", "(flushed)"], true, false]);
  });
});
