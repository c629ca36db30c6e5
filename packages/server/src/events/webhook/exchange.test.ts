import assert from "node:assert/strict";
import { test } from "node:test";
import { growth, MAX_LINEAR_GROWTH } from "../../../test/harness/cpu-cost.ts";
import { decodeExchange, encodeExchange, MAX_RECORDED_BYTES } from "./exchange.ts";

const answer = { url: "https://sink.example.com/", headers: {}, body: Buffer.alloc(0), token: "the-token" };
const bodyOf = (body: string) => decodeExchange(encodeExchange({ ...answer, body: Buffer.from(body) }))?.body;

test("credentials in the answer of a sink are removed", () => {
  const headers = { "set-cookie": ["a=1", "b=2"], "x-api-key": "k", server: "echo the-token", date: undefined };
  assert.deepEqual(decodeExchange(encodeExchange({ ...answer, headers }))?.headers, [
    { name: "set-cookie", value: "[removed]" },
    { name: "set-cookie", value: "[removed]" },
    { name: "x-api-key", value: "[removed]" },
    { name: "server", value: "echo [removed]" },
  ]);
  assert.equal(bodyOf("Bearer the-token"), "Bearer [removed]");
  assert.equal(bodyOf("eyJhbGciOiJSUzI1NiJ9.e30.c2ln sent"), "[removed] sent");
  assert.equal(bodyOf('{"access_token":"a\\"b","ok":true}'), '{"access_token":"[removed]","ok":true}');
  assert.equal(bodyOf("password=abc&user=u"), "password=[removed]&user=u");
  assert.equal(bodyOf('{"accepted":"yes"}'), '{"accepted":"yes"}');
});

test("the recorded answer of a sink is bounded and can be stored", () => {
  const whole = decodeExchange(encodeExchange({ ...answer, body: Buffer.alloc(MAX_RECORDED_BYTES, "a") }));
  assert.deepEqual([whole?.body.length, whole?.isTruncated], [MAX_RECORDED_BYTES, false]);
  const cut = decodeExchange(encodeExchange({ ...answer, body: Buffer.alloc(MAX_RECORDED_BYTES + 1, "a") }));
  assert.deepEqual([cut?.body.length, cut?.isTruncated], [MAX_RECORDED_BYTES, true]);
  const headers = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`x-${index}`, "v".repeat(2000)]));
  const many = decodeExchange(encodeExchange({ ...answer, headers }))?.headers ?? [];
  assert.deepEqual([many.length, many[0]?.value.length], [50, 512]);
  assert.equal(bodyOf("a\0b"), "a\uFFFDb");
  assert.equal(decodeExchange(""), undefined);
});

for (const word of ["a", "password", "eyJ", "eyJaaaaaaaa.", '"', 'password="\\'])
  test(`the answer of a sink that repeats ${word} is recorded in linear time`, () => {
    const size = MAX_RECORDED_BYTES / 16;
    const cost = growth(size, (bytes) => void encodeExchange({ ...answer, body: Buffer.alloc(bytes, word) }));
    assert.ok(cost < MAX_LINEAR_GROWTH, `16 times the size costs ${cost} times as much`);
  });
