/** Pushes an image with plain requests, for servers that run as programs. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { get } from "./holtd.ts";

/** Pushes an image over the registry's protocol, and reads its configuration through the API, which a thread parses. */
export async function pushAndRead(baseUrl: string, token: string): Promise<void> {
  const authorization = `Bearer ${token}`;
  const put = async (path: string, body: Uint8Array<ArrayBuffer>, type: string) => {
    const answer = await fetch(`${baseUrl}${path}`, { method: "PUT", headers: { authorization, "content-type": type }, body });
    assert.equal(answer.status, 201, `${path}: ${await answer.text()}`);
  };
  const digestOf = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const name = "/v2/my-org/app";
  const upload = async (bytes: Uint8Array<ArrayBuffer>) => {
    const begun = await fetch(`${baseUrl}${name}/blobs/uploads/`, { method: "POST", headers: { authorization } });
    assert.equal(begun.status, 202, await begun.text());
    const place = new URL(begun.headers.get("location") ?? "", baseUrl);
    place.searchParams.set("digest", digestOf(bytes));
    await put(place.pathname + place.search, bytes, "application/octet-stream");
    return { digest: digestOf(bytes), size: bytes.length };
  };
  const layer = await upload(new TextEncoder().encode("layer"));
  // Larger than what is parsed without a thread.
  const history = Array.from({ length: 4000 }, (_, index) => ({ created_by: `step ${index} ${"x".repeat(100)}`, empty_layer: true }));
  const config = { architecture: "amd64", os: "linux", rootfs: { type: "layers", diff_ids: [layer.digest] }, history };
  const configType = "application/vnd.oci.image.config.v1+json";
  const described = { mediaType: configType, ...(await upload(new TextEncoder().encode(JSON.stringify(config)))) };
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const layers = [{ mediaType: "application/vnd.oci.image.layer.v1.tar", ...layer }];
  const manifest = new TextEncoder().encode(JSON.stringify({ schemaVersion: 2, mediaType, config: described, layers }));
  await put(`${name}/manifests/latest`, manifest, mediaType);
  const { json } = await get(baseUrl, "/registry/v2/repos?name=app", token);
  const { uid } = (json as { repos: { uid: string }[] }).repos[0] ?? { uid: "" };
  const read = await get(baseUrl, `/registry/v2/repos/${uid}/digests/${digestOf(manifest)}/architectures`, token);
  assert.equal(read.status, 200, JSON.stringify(read.json));
  assert.match(JSON.stringify(read.json), /amd64/);
}
