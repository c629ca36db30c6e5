// Images with real manifests: two platforms, and layers with a package database that the server reads.
import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";
const CONFIG = "application/vnd.oci.image.config.v1+json";
const LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";
const PLATFORMS = [
  { architecture: "amd64", machine: "x86_64" },
  { architecture: "arm64", machine: "aarch64" },
];

const OLD = ["musl 1.2.5-r0", "openssl 3.4.0-r0", "zlib 1.3-r0", "busybox 1.36.1-r0"];
const NEW = ["musl 1.2.5-r0", "openssl 3.5.1-r0", "zlib 1.3.1-r2", "ca-certificates 20260101-r0"];
const IMAGES = [
  { folder: "web-shop", name: "storefront", tags: { "1.0": [...OLD, "nginx 1.27.0-r0"], 1.1: [...NEW, "nginx 1.27.2-r0"] } },
  { folder: "web-shop", name: "search", tags: { 2.3: [...OLD, "curl 8.9.0-r0"] } },
  { folder: "payments", name: "ledger", tags: { "5.0": [...OLD, "postgresql 17.0-r0"], 5.1: [...NEW, "postgresql 17.2-r0"] } },
  { folder: "platform", name: "base", tags: { "2026.10": OLD, 2026.11: NEW } },
];

export async function pushImages({ api, organization, folders }) {
  for (const { folder, name, tags } of IMAGES) {
    const { uid } = await api.post(`/registry/v2/repos/${folders[folder]}`, { name, description: `The image ${name} of ${folder}` });
    const content = `# ${name}\n\nBuilt by CI of **${folder}**.\n\n\`\`\`\ndocker pull ${organization.name}/${folder}/${name}\n\`\`\`\n`;
    await api.patch(`/registry/v2/repos/${uid}/readme`, { content });
    for (const [tag, packages] of Object.entries(tags)) {
      await pushImage(api, uid, tag, packages);
      await pushImage(api, uid, "latest", packages);
    }
  }
}

async function pushImage(api, repo, tag, packages) {
  const manifests = [];
  for (const { architecture, machine } of PLATFORMS) {
    const layer = await putBlob(api, repo, await layerOf(packages, machine), LAYER);
    const config = await putBlob(api, repo, Buffer.from(JSON.stringify({ os: "linux", architecture })), CONFIG);
    const image = { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] };
    manifests.push({ ...(await putManifest(api, repo, image)), platform: { os: "linux", architecture } });
  }
  await putManifest(api, repo, { schemaVersion: 2, mediaType: INDEX, manifests }, tag);
}

async function putBlob(api, repo, content, mediaType) {
  const digest = digestOf(content);
  const headers = { "content-type": "application/octet-stream" };
  await api.send("POST", `/v2/${repo}/blobs/uploads/?digest=${digest}`, { body: content, headers });
  return { mediaType, digest, size: content.length };
}

async function putManifest(api, repo, manifest, reference) {
  const content = Buffer.from(JSON.stringify(manifest));
  const digest = digestOf(content);
  const headers = { "content-type": manifest.mediaType };
  await api.send("PUT", `/v2/${repo}/manifests/${reference ?? digest}`, { body: content, headers });
  return { mediaType: manifest.mediaType, digest, size: content.length };
}

function digestOf(content) {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** A layer with the database of apk and the name of the distribution. */
function layerOf(packages, machine) {
  const records = packages.map((each) => {
    const [name, version] = each.split(" ");
    return `P:${name}\nV:${version}\nA:${machine}\no:${name}\nF:usr/bin\nR:${name}\n`;
  });
  return tarGzOf({ "lib/apk/db/installed": `${records.join("\n")}\n`, "etc/os-release": 'ID=wolfi\nVERSION_ID="20260101"\n' });
}

/** @param files content by path */
export async function tarGzOf(files) {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name, mtime: new Date(0) }, content);
  archive.finalize();
  return gzipSync(await buffer(archive));
}
