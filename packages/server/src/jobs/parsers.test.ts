/** Parsers on threads: limits, errors, and that one caller does not occupy all threads. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Code } from "../lib/errors.ts";
import { defineParser, type Parser, Parsers } from "./parsers.ts";

const errors = new URL("../lib/errors.ts", import.meta.url).href;
const parsers = new Parsers(2);
after(() => parsers[Symbol.asyncDispose]());

/** @param body of a function of `input` */
function parserThat(body: string, cpuMs = 2000): Parser<string, string> {
  const text = `import { invalidArgument } from ${JSON.stringify(errors)}; export async function parse(input) { ${body} }`;
  const module = new URL(`data:text/javascript,${encodeURIComponent(text)}`);
  return defineParser<string, string>({ module, name: "parse", pool: "documents", cpuMs: () => cpuMs, field: "text", content: "the text" });
}

const echo = parserThat("return input + input;");
/** A thread must also answer within ten times this, or its parser counts as stuck. */
const SHORT_CPU_MS = 1000;
const endless = parserThat("for (;;);", SHORT_CPU_MS);

test("a parser runs on a thread, and its refusals keep their code and details", async () => {
  assert.equal(await parsers.run(echo, "a", ""), "aa");
  const refusing = parserThat('throw invalidArgument("text", "no");');
  await assert.rejects(parsers.run(refusing, "a", ""), {
    code: Code.INVALID_ARGUMENT,
    details: { fieldViolations: [{ field: "text", description: "no" }] },
  });
  await assert.rejects(parsers.run(parserThat('throw new Error("a bug");'), "a", ""), { message: "a bug" });
  assert.equal(await parsers.run(echo, "b", ""), "bb");
});

test("a small input is parsed at once, and a larger one on a thread", async () => {
  const parser = { ...echo, atOnce: { isSmall: (input: string) => input.length < 3, parse: () => "at once" } };
  assert.equal(await parsers.run(parser, "a", ""), "at once");
  assert.equal(await parsers.run(parser, "abc", ""), "abcabc");
});

test("a parser that takes more than its CPU time is ended, and its input is refused", async () => {
  await assert.rejects(parsers.run(endless, "", ""), {
    code: Code.INVALID_ARGUMENT,
    message: /text: the text takes too much computing time/,
  });
  // Backtracking does not return to JavaScript.
  const backtracking = parserThat("return String(/^(a+)+$/.test(input));", SHORT_CPU_MS);
  await assert.rejects(parsers.run(backtracking, `${"a".repeat(60)}b`, ""), { code: Code.INVALID_ARGUMENT });
});

test("a parser that fills its heap is ended, and its input is refused", async () => {
  const greedy = parserThat("const all = []; for (;;) all.push({ all });", 60_000);
  await assert.rejects(parsers.run(greedy, "", ""), { code: Code.INVALID_ARGUMENT, message: /too much memory/ });
  assert.equal(await parsers.run(echo, "a", ""), "aa");
});

test("a caller whose inputs take long does not delay the inputs of another", async () => {
  const [hostile, other] = ["a".repeat(40), "b".repeat(40)];
  const ended: string[] = [];
  const slow = Array.from({ length: 5 }, () => parsers.run(endless, "", hostile).catch(() => ended.push("hostile")));
  await parsers.run(echo, "a", other).then(() => ended.push("other"));
  assert.ok(ended.length <= 2, ended.join());
  await Promise.all(slow);
  assert.equal(ended.length, 6);
});

test("a caller with more waiting inputs than allowed is told to try again", async () => {
  const caller = "a".repeat(40);
  const runs = Array.from({ length: 66 }, () => parsers.run(echo, "a", caller));
  const refused = (await Promise.allSettled(runs)).filter(({ status }) => status === "rejected");
  assert.equal(refused.length, 1);
  assert.equal((refused[0] as PromiseRejectedResult).reason.code, Code.RESOURCE_EXHAUSTED);
});
