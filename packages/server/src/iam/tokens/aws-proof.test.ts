import assert from "node:assert/strict";
import { test } from "node:test";
import { type ProofOptions, proofOf, proofRequest, startSts } from "../../../test/harness/aws-sts.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { createOutboundClient } from "../../outbound/client.ts";
import { createAwsProofs } from "./aws-proof.ts";
import { createWaitLimit } from "./wait-limit.ts";

const NOW = new Date("2030-01-01T00:00:00Z");
const GOOD: ProofOptions = { audience: "https://issuer.holt.test", identity: "id", date: NOW };

async function setUp() {
  const sts = await startSts();
  const client = createOutboundClient({ allowCidrs: ["127.0.0.0/8"] });
  const waits = createWaitLimit({ maxConcurrentCalls: 1024, trusted: new Set() });
  const proofs = createAwsProofs({ client, waits, issuer: GOOD.audience, stsUrl: sts.url, headerPrefixes: ["holt"] });
  const verify = async (proof: string) => proofs.fetchCaller(proofs.check(proof, "id", NOW));
  return {
    sts,
    verify,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await sts[Symbol.asyncDispose]();
    },
  };
}

function hasCode(code: Code, text: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof HoltError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, text);
    return true;
  };
}

test("a valid AWS proof is forwarded as signed, and the caller that AWS returns is accepted", async () => {
  await using s = await setUp();
  const caller = await s.verify(proofOf(GOOD));
  assert.deepEqual(caller, { account: "123456789012", arn: "arn:aws:sts::123456789012:assumed-role/ci/i-1", userId: "AROA:i-1" });
  assert.deepEqual([s.sts.last?.method, s.sts.last?.url], ["POST", "/?Action=GetCallerIdentity&Version=2011-06-15"]);
  const { host, accept, "x-amz-date": date, "holt-identity": identity, authorization } = s.sts.last?.headers ?? {};
  assert.deepEqual([host, accept, date, identity], ["sts.amazonaws.com", "application/json", "20300101T000000Z", "id"]);
  assert.match(authorization ?? "", /^AWS4-HMAC-SHA256 /);
});

test("an AWS proof is accepted in every common encoding", async () => {
  await using s = await setUp();
  const absolute = "POST https://sts.amazonaws.com/?Version=2011-06-15&Action=GetCallerIdentity HTTP/1.1";
  await s.verify(proofOf({ ...GOOD, requestLine: absolute }));
  await s.verify(Buffer.from(proofRequest(GOOD)).toString("base64"));
  await s.verify(Buffer.from(proofRequest(GOOD)).toString("base64url"));
  await s.verify(proofOf({ ...GOOD, audience: `  ${GOOD.audience}  ` }));
  await s.verify(proofOf({ ...GOOD, host: new URL(s.sts.url).host }));
  await s.verify(proofOf({ ...GOOD, extraLines: ["Content-Length: 0", "X-Amz-Security-Token: abc"] }));
  await s.verify(proofOf({ ...GOOD, date: new Date(NOW.getTime() - 15 * 60_000) }));
  await s.verify(proofOf({ ...GOOD, date: new Date(NOW.getTime() + 5 * 60_000) }));
});

test("an AWS proof that could be parsed as a different request is rejected before anything is sent", async () => {
  await using s = await setUp();
  const line = (target: string): Partial<ProofOptions> => ({ requestLine: `POST ${target} HTTP/1.1` });
  const variants: Record<string, Partial<ProofOptions>> = {
    GET: { requestLine: "GET /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1" },
    "another action": line("/?Action=AssumeRole&Version=2011-06-15"),
    "a second action": line("/?Action=GetCallerIdentity&Action=AssumeRole&Version=2011-06-15"),
    "another parameter": line("/?Action=GetCallerIdentity&Version=2011-06-15&X=1"),
    "an escaped parameter": line("/?Action=GetCallerIdentity%26X&Version=2011-06-15"),
    "another path": line("/x?Action=GetCallerIdentity&Version=2011-06-15"),
    "another host": { host: "sts.evil.test" },
    "a host like it": { host: "sts.amazonaws.com.evil.test" },
    "another host in the target": line("https://sts.evil.test/?Action=GetCallerIdentity&Version=2011-06-15"),
    "user information in the target": line("https://sts.amazonaws.com@evil.test/?Action=GetCallerIdentity&Version=2011-06-15"),
    "plain http": line("http://sts.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"),
    "HTTP/1.0": { requestLine: "POST /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.0" },
    "a body": { body: "Action=AssumeRole" },
    "a chunked body": { extraLines: ["Transfer-Encoding: chunked"] },
    "two authorizations": { extraLines: ["authorization: AWS4-HMAC-SHA256 x"] },
    "two dates": { extraLines: ["X-AMZ-Date: 20300101T000000Z"] },
    "two identities": { extraLines: ["holt-identity: other"] },
    "two hosts": { extraLines: ["host: sts.amazonaws.com"] },
    "a folded header": { extraLines: [" folded"] },
    "a space before the colon": { extraLines: ["X-A : b"] },
    "a header without a colon": { extraLines: ["x"] },
    "a bare line feed": { extraLines: ["x: y\nHolt-Extra: z"] },
    "a space after the version": { requestLine: "POST /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1 " },
  };
  for (const [why, variant] of Object.entries(variants))
    await assert.rejects(s.verify(proofOf({ ...GOOD, ...variant })), hasCode(Code.UNAUTHENTICATED, /caller-identity request/), why);
  for (const text of ["", "!", "AAAA", "a", "eyJhbGciOiJub25lIn0"])
    await assert.rejects(s.verify(text), (error) => error instanceof HoltError && error.code === Code.UNAUTHENTICATED, text);
  assert.equal(s.sts.requests, 0);
});

test("each reason to reject an AWS proof has its own code and message", async () => {
  await using s = await setUp();
  const minutes = (count: number): Date => new Date(NOW.getTime() + count * 60_000);
  await assert.rejects(s.verify("!!"), hasCode(Code.UNAUTHENTICATED, /not base64/));
  await assert.rejects(s.verify(proofOf({ ...GOOD, date: minutes(-16) })), hasCode(Code.UNAUTHENTICATED, /expired/));
  await assert.rejects(s.verify(proofOf({ ...GOOD, date: minutes(6) })), hasCode(Code.UNAUTHENTICATED, /future/));
  await assert.rejects(s.verify(proofOf({ ...GOOD, audience: "https://other.test" })), hasCode(Code.PERMISSION_DENIED, /another audience/));
  await assert.rejects(s.verify(proofOf({ ...GOOD, identity: "other" })), hasCode(Code.PERMISSION_DENIED, /another identity/));
  for (const name of ["host", "x-amz-date", "holt-audience", "holt-identity"]) {
    const signedHeaders = ["host", "x-amz-date", "holt-audience", "holt-identity"].filter((other) => other !== name);
    await assert.rejects(
      s.verify(proofOf({ ...GOOD, signedHeaders })),
      hasCode(Code.UNAUTHENTICATED, new RegExp(`does not sign the header "${name}"`)),
    );
  }
  assert.equal(s.sts.requests, 0);
  s.sts.answer(403, "secret");
  await assert.rejects(s.verify(proofOf(GOOD)), hasCode(Code.UNAUTHENTICATED, /AWS rejected/));
  s.sts.answer(500, "secret");
  await assert.rejects(s.verify(proofOf(GOOD)), hasCode(Code.UNAVAILABLE, /cannot check/));
  for (const body of [
    "secret",
    "{}",
    { GetCallerIdentityResponse: { GetCallerIdentityResult: { Account: 5 } } },
    '{"GetCallerIdentityResponse":{},"GetCallerIdentityResponse":{}}',
  ]) {
    s.sts.answer(200, body);
    await assert.rejects(s.verify(proofOf(GOOD)), hasCode(Code.UNAUTHENTICATED, /unexpected response/));
  }
});

test("an AWS proof is checked in the order encoding, form, signed headers, audience, identity, date", async () => {
  await using s = await setUp();
  const late: ProofOptions = { ...GOOD, date: new Date(0) };
  const forAnother: ProofOptions = { ...late, identity: "other" };
  const elsewhere: ProofOptions = { ...forAnother, audience: "https://other.test" };
  const unsigned: ProofOptions = { ...elsewhere, signedHeaders: ["host", "x-amz-date"] };
  const twice: ProofOptions = { ...unsigned, extraLines: ["x-amz-date: 20300101T000000Z"] };
  for (const [proof, code, text] of [
    [`!${proofOf(twice)}`, Code.UNAUTHENTICATED, /not base64/],
    [proofOf(twice), Code.UNAUTHENTICATED, /caller-identity request/],
    [proofOf(unsigned), Code.UNAUTHENTICATED, /does not sign the header "holt-audience"/],
    [proofOf(elsewhere), Code.PERMISSION_DENIED, /another audience/],
    [proofOf(forAnother), Code.PERMISSION_DENIED, /another identity/],
    [proofOf(late), Code.UNAUTHENTICATED, /expired/],
  ] as const)
    await assert.rejects(s.verify(proof), hasCode(code, text));
  assert.equal(s.sts.requests, 0);
});

test("an AWS proof is refused in time that is linear in its size, for any content", async () => {
  await using s = await setUp();
  const before = process.threadCpuUsage();
  for (const blank of [" ", "\t"]) {
    const request = `POST / HTTP/1.1\r\na:${blank.repeat(11_000)}\x01\r\n\r\n`;
    await assert.rejects(s.verify(Buffer.from(request).toString("base64")), hasCode(Code.UNAUTHENTICATED, /well-formed/));
  }
  await assert.rejects(s.verify(`${"=".repeat(16_000)}A`), hasCode(Code.UNAUTHENTICATED, /not base64/));
  const { user } = process.threadCpuUsage(before);
  assert.ok(user < 500_000, `${user} µs`);
});
