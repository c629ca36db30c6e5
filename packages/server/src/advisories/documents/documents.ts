/**
 * Builds the published documents: the approved content of public organizations' advisories, by package. Reads a few
 * bodies at a time.
 */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { createFairLimit } from "../../jobs/limit.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { compareTexts } from "../../lib/version-order/numeral.ts";
import { countAdvisories } from "../storage/count.ts";
import { documentEventOf, type StoredEvent } from "./document-event.ts";
import { type DocumentFilter, type DocumentRow, mergeKeyOf, readDocumentRows } from "./document-rows.ts";
import type { Publication } from "./publication.ts";

const MAX_ADVISORIES = 20_000;
/** Limit of the characters of an answer, and of the bodies that are read for it, which may be mostly unpublished. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** Anonymous callers may ask, so answers about more advisories than this have a concurrency limit. */
const LARGE_ANSWER = 1000;
const MAX_LARGE_ANSWERS = 2;
/** Advisories whose bodies are in memory at the same time. Bodies include the findings of scanners. */
const ADVISORIES_PER_QUERY = 64;

export interface Documents {
  /**
   * @param caller uid, or the network of an anonymous caller
   * @returns a JSON array of Document (platform.advisory.v2)
   * @throws RESOURCE_EXHAUSTED if the answer is too large, or too many large answers are being made
   */
  list(filter: DocumentFilter, caller: string, db: ReadDb): Promise<string>;
}

export function createDocuments(publication: Publication): Documents {
  const largeAnswers = createFairLimit(MAX_LARGE_ANSWERS, () =>
    resourceExhausted("too many large answers are being made; try again, or ask for fewer documents", 5),
  );

  async function readRows(filter: DocumentFilter, db: ReadDb): Promise<DocumentRow[]> {
    const rows = await readDocumentRows(filter, MAX_ADVISORIES + 1, publication, db);
    if (rows.length > MAX_ADVISORIES) throw tooManyError(`more than ${MAX_ADVISORIES} advisories`);
    return rows;
  }

  async function encodeAlone(caller: string, read: () => Promise<readonly DocumentRow[]>, db: ReadDb): Promise<string> {
    using _slot = largeAnswers.take(caller);
    return await encodeDocuments(await read(), db);
  }

  return {
    async list(filter, caller, db) {
      const isAll = filter.id === "" && filter.cves.length === 0;
      // If the size is known in advance, finding the rows is under the limit, too.
      if (isAll && (await countPublished(publication, db)) > LARGE_ANSWER) return encodeAlone(caller, () => readRows(filter, db), db);
      const rows = await readRows(filter, db);
      return rows.length <= LARGE_ANSWER ? encodeDocuments(rows, db) : encodeAlone(caller, async () => rows, db);
    },
  };
}

/** Reads the maintained counts, so that a refusal costs no scan. @throws RESOURCE_EXHAUSTED */
async function countPublished(publication: Publication, db: ReadDb): Promise<number> {
  const roots = await publication.roots(db);
  const below = Number((await countAdvisories(db, roots === "all" ? ["/"] : roots, sql<boolean>`latest_type <> 0`)).below);
  if (below > MAX_ADVISORIES) throw tooManyError(`${below} advisories`);
  return below;
}

function tooManyError(amount: string): Error {
  return resourceExhausted(`${amount} are too many for one answer: filter by id or cves, or download an organization's feed`);
}

/** The advisories that are one entry in a document: about other architectures or components of the same package. */
interface MergedAdvisory {
  readonly row: DocumentRow;
  readonly aliases: Set<string>;
  /** From the JSON of an event to its time. */
  readonly events: Map<string, string>;
}

async function encodeDocuments(rows: readonly DocumentRow[], db: ReadDb): Promise<string> {
  const documents = new Map<string, string[]>();
  let length = 0;
  for await (const { row, aliases, events } of mergeAdvisories(rows.toSorted(compareRows), db)) {
    if (events.size === 0) continue;
    const history = [...events].sort(
      ([text, time], [otherText, otherTime]) => compareTexts(time, otherTime) || compareTexts(text, otherText),
    );
    const parts = `"events":[${history.map(([text]) => text).join(",")}],"aliases":${JSON.stringify([...aliases])}`;
    const text = `{"id":${JSON.stringify(row.advisory_id)},${parts},"packageNamespace":${JSON.stringify(row.namespace)}}`;
    length += text.length;
    if (length > MAX_CHARACTERS) throw tooManyError(`more than ${MAX_CHARACTERS} characters`);
    const document = documents.get(row.origin);
    if (document === undefined) documents.set(row.origin, [text]);
    else document.push(text);
  }
  return `[${[...documents].map(([id, texts]) => `{"id":${JSON.stringify(id)},"advisories":[${texts.join(",")}]}`).join(",")}]`;
}

/** @param rows sorted, so that rows of one entry are adjacent */
async function* mergeAdvisories(rows: readonly DocumentRow[], db: ReadDb): AsyncGenerator<MergedAdvisory> {
  let current: MergedAdvisory | undefined;
  let length = 0;
  for (let start = 0; start < rows.length; start += ADVISORIES_PER_QUERY) {
    const chunk = rows.slice(start, start + ADVISORIES_PER_QUERY);
    const bodies = await readBodies(chunk, db);
    for (const body of bodies.values()) length += body.length;
    if (length > MAX_CHARACTERS) throw tooManyError(`advisories with more than ${MAX_CHARACTERS} characters`);
    for (const row of chunk) {
      if (current === undefined || mergeKeyOf(current.row) !== mergeKeyOf(row)) {
        if (current !== undefined) yield current;
        current = { row, aliases: new Set(), events: new Map() };
      }
      addBody(current, bodies.get(row.uid));
    }
    // SQLite answers synchronously; yield so that other requests are served between chunks.
    await setImmediate();
  }
  if (current !== undefined) yield current;
}

async function readBodies(rows: readonly DocumentRow[], db: ReadDb): Promise<ReadonlyMap<string, string>> {
  const uids = db.dialect.valuesOf(rows.map(({ uid }) => uid));
  const found = await sql<{ uid: string; body: string }>`
    select a.uid, a.body from ${uids} as v join advisory as a on a.uid = v.value`.execute(db);
  return new Map(found.rows.map(({ uid, body }) => [uid, body]));
}

function addBody({ aliases, events }: MergedAdvisory, body: string | undefined): void {
  if (body === undefined) return;
  const advisory = JSON.parse(body) as { aliases: string[]; events: StoredEvent[] };
  for (const alias of advisory.aliases) aliases.add(alias);
  for (const event of advisory.events) {
    const shown = documentEventOf(event);
    if (shown !== undefined) events.set(JSON.stringify(shown), event.createTime);
  }
}

/** Sorts by document, and within a document by advisory id. */
function compareRows(a: DocumentRow, b: DocumentRow): number {
  return (
    compareTexts(a.origin, b.origin) ||
    compareTexts(a.advisory_id, b.advisory_id) ||
    compareTexts(a.namespace, b.namespace) ||
    compareTexts(a.parent, b.parent) ||
    compareTexts(a.uid, b.uid)
  );
}
