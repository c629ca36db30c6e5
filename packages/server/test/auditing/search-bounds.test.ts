/** A page of the audit log reads a bounded part of the log, also while its index is made anew, and its pages together have every entry once. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createPageTokens } from "../../src/api/resource/page-token.ts";
import { contentOf } from "../../src/audit/audit-entry.ts";
import type { AuditBlockTable } from "../../src/audit/tables.ts";
import { type EntryFilter, findEntries } from "../../src/auditing/api/find-entries.ts";
import { openPageEnd, sealPageEnd } from "../../src/auditing/api/page-end.ts";
import { numberBytes } from "../../src/auditing/chain/block.ts";
import { indexBlocks } from "../../src/auditing/chain/segment-index.ts";
import { bucketsOf, SegmentBuilder } from "../../src/auditing/chain/segment-records.ts";
import { requestTerm, targetTerm } from "../../src/auditing/chain/terms.ts";
import { createReadHandle } from "../../src/db/handle.ts";
import { setState } from "../../src/db/server-state.ts";
import type { ReadDb, Store } from "../../src/db/store.ts";
import { newUid } from "../../src/lib/uid.ts";
import { describeOnStores } from "../harness/describe-stores.ts";

/** Each has one entry. The first ones have a segment of the index each, and the last ones none. */
const BLOCKS = 12_000;
const SEGMENTS = 5000;
/** The requests of every tenth of the last blocks are unknown, as in blocks of a server before their index. */
const WITHOUT_REQUESTS = 10;
/** Every such entry is about the target of the filters, and of their request. */
const WANTED_EVERY = 997;
/** Far below the blocks and segments of the log, each of which would be a row or two. */
const MAX_ROWS = 13_000;
const MAX_STATEMENTS = 64;
const BLOCKS_PER_INSERT = 1000;
const NOW = new Date("2026-01-01T00:00:00Z");
const BINDING = "list";
const pageTokens = createPageTokens(new Uint8Array(32));

const organization = newUid("");
const target = newUid(organization);
const requestId = "the-request";

const ANY: EntryFilter = {
  ...{ organization, below: undefined, actor: "", action: "", target: "", outcome: "", refused: false, remoteAddress: "", requestId: "" },
  ...{ since: undefined, until: undefined },
};
const FILTERS: readonly { readonly name: string; readonly filter: EntryFilter; readonly isRare: boolean }[] = [
  { name: "a target", filter: { ...ANY, target }, isRare: false },
  { name: "a target without entries", filter: { ...ANY, target: newUid(organization) }, isRare: true },
  { name: "a request", filter: { ...ANY, requestId }, isRare: false },
  { name: "everything below a target", filter: { ...ANY, below: target }, isRare: false },
  { name: "a target and a request", filter: { ...ANY, target, requestId }, isRare: false },
];

function isWanted(number: number): boolean {
  return number % WANTED_EVERY === 0;
}

interface Terms {
  readonly target: string;
  readonly request: string;
}

function termsOf(number: number): Terms {
  return isWanted(number) ? { target, request: requestId } : { target: newUid(organization), request: `request-${number}` };
}

async function fill(store: Store): Promise<void> {
  const all = Array.from({ length: BLOCKS }, (_, at) => termsOf(at + 1));
  const contents = all.map((terms) =>
    contentOf({ organization, action: "holtd test", actor: "", target: terms.target, outcome: "OK", requestId: terms.request, now: NOW }),
  );
  await inChunks(contents, (some) =>
    store.transaction(async (db) => {
      const rows = some.map((content) => ({ content }));
      await db.insertInto("audit_entry").values(rows).execute();
    }),
  );
  const seqs = await store.reader.selectFrom("audit_entry").select("seq").orderBy("seq").execute();
  const blocks = all.map((terms, at) => blockOf(at + 1, Number(seqs[at]?.seq), terms));
  await inChunks(blocks, (some) =>
    store.transaction(async (db) => {
      await db.insertInto("audit_block").values(some).execute();
    }),
  );
  await fillSegments(store, all.slice(0, SEGMENTS));
}

function blockOf(number: number, seq: number, { target: of, request }: Terms): AuditBlockTable {
  const isKnown = number <= SEGMENTS || number % WITHOUT_REQUESTS !== 0;
  return {
    ...{ id: number, org_uid: organization, first_number: number, count: 1, last_time: "2026-01-01T00:00:00.000000Z" },
    ...{ targets: numberBytes([targetTerm(of)]), seqs: numberBytes([seq]), hashes: new Uint8Array(32), times: null },
    requests: isKnown ? numberBytes([requestTerm(request)]) : null,
  };
}

/** A segment for each of the first blocks, with the buckets that the filters need. */
async function fillSegments(store: Store, indexed: readonly Terms[]): Promise<void> {
  const buckets = new Set(
    [...FILTERS.map(({ filter }) => targetTerm(filter.target)), requestTerm(requestId)].map((term) => bucketsOf(term)[0]),
  );
  const rows = indexed.flatMap((terms, at) => {
    const segment = new SegmentBuilder();
    for (const term of [targetTerm(terms.target), requestTerm(terms.request)]) segment.add(term, at + 1, 0);
    const records = segment.records();
    return [...buckets].map((bucket) => ({ bucket, segment: at + 1, first_block: at + 1, records: records[bucket] ?? new Uint8Array() }));
  });
  await inChunks(rows, (some) =>
    store.transaction(async (db) => {
      await db.insertInto("audit_segment").values(some).execute();
    }),
  );
  await store.transaction((db) => setState(db, "audit_segments", JSON.stringify({ block: indexed.length })));
}

async function inChunks<T>(list: readonly T[], run: (some: T[]) => Promise<void>): Promise<void> {
  for (let start = 0; start < list.length; start += BLOCKS_PER_INSERT) await run(list.slice(start, start + BLOCKS_PER_INSERT));
}

describeOnStores("bounds of pages of the audit log", (open) => {
  let store: Store;
  let db: ReadDb;
  let statements = 0;
  let rows = 0;

  before(async () => {
    store = await open();
    await fill(store);
    db = createReadHandle(store.dialect, async (query) => {
      const result = await store.reader.getExecutor().executeQuery(query);
      statements++;
      rows += result.rows.length;
      return result as never;
    });
  });
  after(() => store[Symbol.asyncDispose]());

  /** @param onPage runs between two pages */
  async function listAll(filter: EntryFilter, isDescending: boolean, onPage?: () => Promise<unknown>) {
    const numbers: number[] = [];
    let pages = 0;
    for (let token = ""; ; ) {
      [statements, rows] = [0, 0];
      const after = openPageEnd(token, BINDING, NOW, pageTokens);
      const { entries, next } = await findEntries(db, filter, { isDescending, after, limit: 5 });
      assert.ok(rows <= MAX_ROWS, `a page read ${rows} rows`);
      assert.ok(statements <= MAX_STATEMENTS, `a page took ${statements} statements`);
      numbers.push(...entries.map(({ number }) => number));
      pages++;
      if (next === undefined) return { numbers, pages };
      token = sealPageEnd(next, BINDING, NOW, pageTokens);
      await onPage?.();
    }
  }

  const wanted = Array.from({ length: BLOCKS }, (_, at) => at + 1).filter(isWanted);
  const expectedOf = (isRare: boolean, isDescending: boolean) => (isRare ? [] : isDescending ? wanted.toReversed() : wanted);

  for (const { name, filter, isRare } of FILTERS)
    for (const isDescending of [true, false])
      test(`each page of a filter by ${name} reads a bounded part of the log, ${isDescending ? "newest" : "oldest"} first`, async () => {
        const { numbers, pages } = await listAll(filter, isDescending);
        assert.deepEqual(numbers, expectedOf(isRare, isDescending));
        assert.ok(pages > 2, "one page read all of the log");
      });

  for (const isDescending of [true, false])
    test(`pages have every entry once while the index grows between them, ${isDescending ? "newest" : "oldest"} first`, async () => {
      const filter = { ...ANY, target };
      let segments = 0;
      const { numbers } = await listAll(filter, isDescending, async () => {
        if (await indexBlocks(store, 500)) segments++;
      });
      assert.deepEqual(numbers, expectedOf(false, isDescending));
      assert.ok(segments > 0);
    });
});
