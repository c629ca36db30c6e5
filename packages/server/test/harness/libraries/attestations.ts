/** Signs attestations of Python files (PEP 740) with self-signed certificates made for these tests. */
import { createPrivateKey, sign } from "node:crypto";
import { type PythonFile, sha256Of } from "./python-packages.ts";

const P256_KEY = [
  "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCGgXVigR25FLPrLYPsZk7Vuy5gv6owwxAJFBv/Xa9WChRANCAAQDql7eoefQG3",
  "TqCFM8HGNQV/S9QyY/cx+ifMgZ+vmR9ku6XpNZdIx28Ksed855oNF9EZZFrYobrPrjzgMby+Cl",
].join("");
const P256_CERTIFICATE = [
  "MIIBgzCCASmgAwIBAgIUYOpHiVPX8C/3b16DR8mOLpDWeGYwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLc2lnbmVyLnRlc3QwIBcNMjYxMTIyMD",
  "k0MDE2WhgPMjEyNjEwMjkwOTQwMTZaMBYxFDASBgNVBAMMC3NpZ25lci50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEA6pe3qHn0Bt0",
  "6ghTPBxjUFf0vUMmP3MfonzIGfr5kfZLul6TWXSMdvCrHnfOeaDRfRGWRa2KG6z6484DG8vgpaNTMFEwHQYDVR0OBBYEFPkXrlu/0vw+ZFrlX/",
  "4d0QzWkEtTMB8GA1UdIwQYMBaAFPkXrlu/0vw+ZFrlX/4d0QzWkEtTMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgF8p9A6Fh",
  "lFTGx/gzNb6Ck343YOF9NP8tJpg5na3+tMcCIQDSWCotQph99ItwE5sFD9d5l0+CfAsFt9kqmIAlXFjUwQ==",
].join("");
const P384_KEY = [
  "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDA0bW01+iR7VIqOicdp8+ZxfBWnWjeIJipPFo5gzEFn/rz0q2+fbJlDLoAAce5rFN",
  "+hZANiAASpbtL2qo2AV+al32nH0Qhuu+7S1y3qO/b8xsuWGtTKCbnOChYO3uRMaswPDiIoR7IZMWUV5Z1jK9SP4rZmGaJlLNjDCpptwYotgBlA",
  "B25//jM/opYMCrXOymLPsNF+sjA=",
].join("");
const P384_CERTIFICATE = [
  "MIIBwDCCAUagAwIBAgIUQvHz6+RDIEFvIbwEBFYBeBdhd+0wCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLc2lnbmVyLnRlc3QwIBcNMjYxMTIyMD",
  "k0MDE2WhgPMjEyNjEwMjkwOTQwMTZaMBYxFDASBgNVBAMMC3NpZ25lci50ZXN0MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEqW7S9qqNgFfmpd9p",
  "x9EIbrvu0tct6jv2/MbLlhrUygm5zgoWDt7kTGrMDw4iKEeyGTFlFeWdYyvUj+K2ZhmiZSzYwwqabcGKLYAZQAduf/4zP6KWDAq1zspiz7DRfr",
  "Iwo1MwUTAdBgNVHQ4EFgQUf2EY7BKAdWx52K5v7z92vOGduWYwHwYDVR0jBBgwFoAUf2EY7BKAdWx52K5v7z92vOGduWYwDwYDVR0TAQH/BAUw",
  "AwEB/zAKBggqhkjOPQQDAgNoADBlAjAgHI2tbXUl6Du9VHOF85tJLnF2CYAxBGhzszF+hAAUdjv4OKKgQFFAc5GhFVewMKQCMQDrOVyGJUFrWi",
  "QdUBZJh9i6sPN/W/gXczHe+NqHjBwqRS3YlDtLlRpzFzTASvWX16M=",
].join("");

const signers = {
  p256: { key: P256_KEY, certificate: P256_CERTIFICATE },
  p384: { key: P384_KEY, certificate: P384_CERTIFICATE },
};

export interface Attestation {
  version: number;
  verification_material: Record<string, unknown>;
  envelope: Record<string, unknown>;
}

/** A valid attestation of a file. @param changes replace members of its statement */
export function attestationOf(
  { fileName, bytes }: PythonFile,
  changes: Readonly<Record<string, unknown>> = {},
  signer: keyof typeof signers = "p256",
): Attestation {
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name: fileName, digest: { sha256: sha256Of(bytes) } }],
    predicateType: "https://docs.pypi.org/attestations/publish/v1",
    predicate: null,
    ...changes,
  };
  return signedStatement(Buffer.from(JSON.stringify(statement)), signer);
}

export function signedStatement(statement: Buffer, signer: keyof typeof signers = "p256"): Attestation {
  const { key, certificate } = signers[signer];
  const privateKey = createPrivateKey({ key: Buffer.from(key, "base64"), format: "der", type: "pkcs8" });
  const signed = Buffer.concat([Buffer.from(`DSSEv1 28 application/vnd.in-toto+json ${statement.length} `), statement]);
  return {
    version: 1,
    verification_material: { certificate, transparency_entries: [{ logIndex: "1" }] },
    envelope: { statement: statement.toString("base64"), signature: sign("sha256", signed, privateKey).toString("base64") },
  };
}
