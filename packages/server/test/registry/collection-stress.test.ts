/**
 * Fifty clients push, pull and delete during permanent collection. Nothing tagged becomes unreadable, and at the end
 * nothing is left over.
 */
import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, test } from "node:test";
import { digestOf } from "../../src/blobs/digest.ts";
import { OciError } from "../../src/registry/oci-error.ts";
import { createStorageFixture, type Descriptor, GRACE_MS, type StorageFixture } from "../harness/registry/storage-fixture.ts";
import { giveTime } from "../harness/wait.ts";

const CLIENTS = 50;
/** Short enough to collect much, and longer than any push that does not count as slow. */
const SHORT_GRACE_MS = 1500;
const TAGS = 8;
/** Errors of a push that takes longer than the grace period: the collector deletes its blobs, or an upload before its commit. */
const LOSSES: ReadonlySet<string> = new Set(["MANIFEST_BLOB_UNKNOWN", "BLOB_UPLOAD_UNKNOWN"]);

describe("collection under load", () => {
  test("collection on SQLite keeps tagged content while fifty clients push 2,500 images", async () => {
    await using world = await createStorageFixture("sqlite", SHORT_GRACE_MS);
    await stress([world], 2500);
  });

  test("collection on PostgreSQL keeps tagged content while fifty clients of two servers push 250 images", async () => {
    await using world = await createStorageFixture("postgres", SHORT_GRACE_MS);
    await using other = await createStorageFixture("postgres", SHORT_GRACE_MS, world);
    await stress([world, other], 250);
  });

  test("collection in a bucket keeps tagged content while fifty clients of two servers push 400 images", async () => {
    await using world = await createStorageFixture("s3", SHORT_GRACE_MS);
    await using other = await createStorageFixture("s3", SHORT_GRACE_MS, world);
    await stress([world, other], 400);
  });
});

/** @param pushes how many images are pushed, at least */
async function stress(servers: readonly StorageFixture[], pushes: number): Promise<void> {
  const world = servers[0]!;
  const repos = await Promise.all(Array.from({ length: 4 }, () => world.newRepo()));
  // Few different contents, so that they are pushed, linked, released and removed over and over.
  const contents = Array.from({ length: 12 }, () => randomBytes(randomInt(1, 40_000)));
  /** Tags whose push was so slow that its blobs may have been collected in the meantime. */
  const slow = new Set<string>();
  const done = { push: 0, index: 0, pull: 0, gone: 0, delete: 0, abandon: 0, mount: 0, runs: 0, collected: 0 };
  const isDone = () => done.push >= pushes && done.pull >= pushes / 2 && done.runs > 0 && done.collected > 0;

  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    const server = servers[i % servers.length]!;
    while (!isDone()) await act(server);
  });
  const collectors = servers.map(async ({ collector }) => {
    while (!isDone()) {
      const report = await collector.run();
      if (report === undefined) await giveTime(50);
      else done.runs++;
      done.collected += report?.blobs ?? 0;
    }
  });
  await Promise.all([...clients, ...collectors]);

  for (const repo of repos) for (let i = 0; i < TAGS; i++) await pull(world, repo, `t${i}`);
  world.clock.advance(GRACE_MS);
  await world.collector.run();
  await assertNothingIsLeftOver(world);
  for (const repo of repos) for (let i = 0; i < TAGS; i++) await pull(world, repo, `t${i}`);
  for (const repo of repos) for (let i = 0; i < TAGS; i++) await world.deleteTag(repo, `t${i}`).catch(onlyOci);
  world.clock.advance(GRACE_MS);
  await world.collector.run();
  assert.deepEqual(await counts(world), { manifests: 0, links: 0, blobs: 0, uploads: 0, files: 0 });

  async function act(server: StorageFixture): Promise<void> {
    const repo = repos[randomInt(repos.length)]!;
    const tag = `t${randomInt(TAGS)}`;
    const dice = randomInt(100);
    if (dice < 30) await pushImage(server, repo, tag);
    else if (dice < 40) await pushIndex(server, repo, tag);
    else if (dice < 75) await pull(server, repo, tag);
    else if (dice < 90) await remove(server, repo, tag);
    else if (dice < 95) await abandon(server, repo);
    else await mount(server, repo);
  }

  /** Asks for each blob and uploads the missing ones, as clients do. */
  async function pushLayers(server: StorageFixture, repo: string): Promise<Descriptor[]> {
    const layers: Descriptor[] = [];
    for (const content of new Set(Array.from({ length: randomInt(1, 4) }, () => contents[randomInt(contents.length)]!))) {
      const known = await server.uploads.findBlob(repo, digestOf(content), true);
      if (known === undefined) await server.pushBlob(repo, content);
      layers.push({ mediaType: "application/octet-stream", digest: digestOf(content), size: content.length });
    }
    return layers;
  }

  async function timed<T>(push: () => Promise<T>): Promise<{ value: T | undefined; isSlow: boolean }> {
    const begun = performance.now();
    const isSlow = () => performance.now() - begun > SHORT_GRACE_MS / 2 - 50;
    try {
      return { value: await push(), isSlow: isSlow() };
    } catch (error) {
      if (error instanceof OciError && LOSSES.has(error.code) && isSlow()) return { value: undefined, isSlow: true };
      throw error;
    }
  }

  async function pushImage(server: StorageFixture, repo: string, tag: string): Promise<void> {
    await timed(async () => server.pushImage(repo, { tag, layers: await pushLayers(server, repo) }));
    done.push++;
  }

  async function pushIndex(server: StorageFixture, repo: string, tag: string): Promise<void> {
    const { value, isSlow } = await timed(async () => {
      const manifests = [
        await server.pushImage(repo, { layers: await pushLayers(server, repo) }),
        await server.pushImage(repo, { layers: await pushLayers(server, repo) }),
      ];
      return server.pushIndex(repo, { manifests, tag });
    });
    // An index may be pushed without its children, so the push succeeded.
    if (value !== undefined && isSlow) slow.add(value.digest);
    done.index++;
  }

  async function remove(server: StorageFixture, repo: string, tag: string): Promise<void> {
    const digest = await digestOfTag(server, repo, tag);
    if (digest === undefined) return;
    await (randomInt(3) === 0 ? server.deleteManifest(repo, digest) : server.deleteTag(repo, tag)).catch(onlyOci);
    done.delete++;
  }

  async function abandon(server: StorageFixture, repo: string): Promise<void> {
    const upload = await server.uploads.begin({ repo, repository: "my-org/nginx", identityUid: "somebody" });
    await server.uploads.append(upload, Readable.from([randomBytes(100)], { objectMode: false }), 0);
    if (randomInt(2) === 0) await assert.rejects(server.uploads.commit(upload, digestOf(randomBytes(100))), OciError);
    done.abandon++;
  }

  async function mount(server: StorageFixture, repo: string): Promise<void> {
    const from = repos[randomInt(repos.length)]!;
    const content = contents[randomInt(contents.length)]!;
    const { value: mounted, isSlow } = await timed(async () => {
      const answer = await server.uploads.mount(from, repo, digestOf(content));
      return answer && { found: await server.uploads.findBlob(repo, digestOf(content)) };
    });
    if (mounted !== undefined && !isSlow) assert.deepEqual(mounted.found, { size: content.length });
    done.mount++;
  }

  /** If something is missing, the tag must have moved in the meantime. */
  async function pull(server: StorageFixture, repo: string, tag: string): Promise<void> {
    const digest = await digestOfTag(server, repo, tag);
    if (digest === undefined) return;
    const missing = await findMissing(server, repo, digest);
    done.pull++;
    if (missing === undefined) return;
    done.gone++;
    assert.notEqual(await digestOfTag(server, repo, tag), digest, `${tag} is ${digest}, which has no ${missing}`);
  }

  async function findMissing(server: StorageFixture, repo: string, digest: string): Promise<string | undefined> {
    const query = server.store.reader.selectFrom("manifest").select("content").where("repo_uid", "=", repo).where("digest", "=", digest);
    const row = await query.executeTakeFirst();
    if (row === undefined) return digest;
    assert.equal(digestOf(row.content), digest);
    const { manifests = [], layers = [], config } = JSON.parse(Buffer.from(row.content).toString()) as Record<string, Descriptor[]>;
    for (const child of slow.has(digest) ? [] : manifests) {
      const missing = await findMissing(server, repo, child.digest);
      if (missing !== undefined) return missing;
    }
    for (const blob of [...layers, ...[config ?? []].flat()] as Descriptor[]) {
      const found = await server.uploads.findBlob(repo, blob.digest);
      if (found === undefined) return blob.digest;
      const content = await server.blobs.read(blob.digest, { start: 0, end: found.size - 1 }).then(buffer, () => undefined);
      if (content === undefined) return blob.digest;
      assert.equal(digestOf(content), blob.digest);
    }
    return undefined;
  }
}

async function digestOfTag({ store }: StorageFixture, repo: string, name: string): Promise<string | undefined> {
  const row = await store.reader.selectFrom("tag").select("digest").where("parent", "=", repo).where("name", "=", name).executeTakeFirst();
  return row?.digest;
}

/** Ignores that the tag was deleted or moved before the deletion. */
function onlyOci(error: unknown): void {
  if (!(error instanceof OciError)) throw error;
}

async function counts({ store, blobs, dataDir, s3 }: StorageFixture) {
  const count = async (table: "manifest" | "repo_blob" | "blob") =>
    (await store.reader.selectFrom(table).select("digest").execute()).length;
  let files = 0;
  for await (const digests of blobs.list()) files += digests.length;
  const pending = s3 === undefined ? await readdir(join(dataDir, "uploads")) : s3.objects.keys().filter((key) => key.includes("/uploads/"));
  const uploads = pending.length + (await store.reader.selectFrom("blob_upload").select("upload").execute()).length;
  return { manifests: await count("manifest"), links: await count("repo_blob"), blobs: await count("blob"), uploads, files };
}

async function assertNothingIsLeftOver(world: StorageFixture): Promise<void> {
  const { reader } = world.store;
  const tags = await reader.selectFrom("tag").select(["parent", "digest"]).execute();
  const manifests = await reader.selectFrom("manifest").select(["repo_uid", "digest"]).execute();
  const references = await reader
    .selectFrom("manifest_reference")
    .select(["repo_uid", "manifest_digest", "digest"])
    .orderBy("digest")
    .execute();
  const reached = new Set<string>();
  const open = tags.map(({ parent, digest }) => `${parent} ${digest}`);
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    if (reached.has(key)) continue;
    reached.add(key);
    for (const { repo_uid, manifest_digest, digest } of references)
      if (`${repo_uid} ${manifest_digest}` === key) open.push(`${repo_uid} ${digest}`);
  }
  const links = await reader.selectFrom("repo_blob").select(["repo_uid", "digest"]).execute();
  for (const { repo_uid, digest } of [...manifests, ...links]) assert.ok(reached.has(`${repo_uid} ${digest}`), `${digest} is left over`);
  const linked = new Set(links.map(({ digest }) => digest));
  const found = await counts(world);
  assert.deepEqual(
    { blobs: found.blobs, files: found.files, uploads: found.uploads },
    { blobs: linked.size, files: linked.size, uploads: 0 },
  );
}
