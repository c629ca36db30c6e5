/** Tests the pages of the referrers API on both stores, with annotations as large as manifests may be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createReadHandle } from "../../src/db/handle.ts";
import type { ReadDb } from "../../src/db/store.ts";
import { findReferrers } from "../../src/registry/content/find-referrers.ts";
import { createStorageFixture } from "../harness/registry/storage-fixture.ts";

const MIB = 1024 * 1024;
const REFERRERS = 8;

/** A handle that counts the bytes of annotations that statements return. */
function countAnnotations({ dialect, getExecutor }: ReadDb): { readonly db: ReadDb; bytes: number } {
  const counter = {
    db: createReadHandle(dialect, async (query) => {
      const result = await getExecutor().executeQuery<{ annotations?: string | null }>(query);
      for (const { annotations } of result.rows) counter.bytes += Buffer.byteLength(annotations ?? "");
      return result;
    }),
    bytes: 0,
  };
  return counter;
}

for (const kind of ["sqlite", "postgres"] as const) {
  test(`a page of referrers reads the annotations of that page only, at most 3 MiB (${kind})`, async () => {
    await using world = await createStorageFixture(kind);
    const repo = await world.newRepo();
    const subject = await world.pushImage(repo);
    // Each of the letters takes two bytes.
    const notes = Array.from({ length: REFERRERS }, (_, index) => `${index}${"é".repeat(0.45 * MIB)}`);
    for (const note of notes) await world.pushIndex(repo, { manifests: [], subject, annotations: { note } });
    const plain = await world.pushIndex(repo, { manifests: [], subject });

    const found: string[] = [];
    for (let after: string | undefined; ; ) {
      const counter = countAnnotations(world.store.reader);
      const page = await findReferrers(counter.db, repo, subject.digest, { artifactType: undefined, after });
      assert.ok(counter.bytes <= 3 * MIB, `${counter.bytes} bytes`);
      found.push(...page.descriptors);
      if (page.next === undefined) break;
      after = page.next;
    }
    const read = found.map((text) => JSON.parse(text) as { digest: string; annotations?: { note: string } });
    const digests = read.map(({ digest }) => digest);
    assert.deepEqual(digests, digests.toSorted());
    assert.deepEqual(read.flatMap(({ annotations }) => annotations?.note ?? []).sort(), notes);
    const { mediaType, digest, size } = plain;
    assert.equal(found[digests.indexOf(digest)], JSON.stringify({ mediaType, digest, size }));
  });
}
