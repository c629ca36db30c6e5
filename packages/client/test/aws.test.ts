/** Proofs of AWS callers, which a real server sends to a stand-in for AWS. */
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import { CALLER, startSts } from "../../server/test/harness/aws-sts.ts";
import { startWorld } from "../../server/test/harness/world.ts";
import { exchangedToken, HoltError } from "../src/index.ts";
import { awsProof } from "../src/tokens/aws.ts";

const credentials = async () => ({ accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret/KEY+1", sessionToken: "session" });

test("an AWS caller gets a token, and AWS gets a request with a valid signature", async () => {
  await using sts = await startSts();
  await using world = await startWorld({ env: { HOLT_AWS_STS_URL: sts.url } });
  const awsIdentity = { awsAccount: CALLER.Account, arn: CALLER.Arn, userId: CALLER.UserId };
  const { text } = await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "aws", awsIdentity });
  const { uid: identity } = JSON.parse(text) as { uid: string };
  const options = { audience: world.baseUrl, identity, credentials, stsUrl: sts.url, region: "eu-west-1", now: world.clock.now };
  const { token } = await exchangedToken(awsProof(options), { baseUrl: world.baseUrl, identity })();
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { sub: string };
  assert.equal(claims.sub, identity);
  assertSignature(sts.last, "secret/KEY+1");
  const other = await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "other", awsIdentity });
  const { uid: another } = JSON.parse(other.text) as { uid: string };
  const stolen = exchangedToken(awsProof(options), { baseUrl: world.baseUrl, identity: another });
  await assert.rejects(stolen(), (error) => error instanceof HoltError && error.code !== "UNAVAILABLE");
});

test("missing variables of AWS are named", async () => {
  const source = awsProof({ audience: "https://holt.example.com", identity: "x" });
  const { AWS_ACCESS_KEY_ID: before } = process.env;
  delete process.env.AWS_ACCESS_KEY_ID;
  await assert.rejects(source(), /the environment has no AWS_ACCESS_KEY_ID/);
  if (before !== undefined) process.env.AWS_ACCESS_KEY_ID = before;
});

/** Signature Version 4, computed without the package that made it. */
function assertSignature(request: Awaited<ReturnType<typeof startSts>>["last"], secret: string): void {
  assert.ok(request);
  const { authorization = "", ...headers } = request.headers;
  const [, scope = "", names = "", signature = ""] =
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/(\S+), SignedHeaders=(\S+), Signature=(\S+)$/.exec(authorization) ?? [];
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const lines = names.split(";").map((name) => `${name}:${headers[name]}`);
  assert.ok(names.split(";").includes("x-amz-security-token"));
  const [path, query] = request.url.split("?");
  const canonical = [request.method, path, query, ...lines, "", names, sha256("")].join("\n");
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(canonical)].join("\n");
  const key = scope
    .split("/")
    .reduce<string | Buffer>((current, part) => createHmac("sha256", current).update(part).digest(), `AWS4${secret}`);
  assert.equal(signature, createHmac("sha256", key).update(text).digest("hex"));
}
