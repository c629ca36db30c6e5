/** The published documents: what is approved of public organizations' advisories, by the package that each is about. Built from what is stored, a few bodies at a time. */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { createConcurrencyLimit } from "../../jobs/limit.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { compareTexts } from "../../lib/version-order/numeral.ts";
import { countAdvisories } from "../storage/count.ts";
import { documentEventOf, type StoredEvent } from "./document-event.ts";
import { type DocumentFilter, type DocumentRow, keyOf, readDocumentRows } from "./document-rows.ts";
import type { Publication } from "./publication.ts";

const MAX_ADVISORIES = 20_000;
/** Of one answer, and of what is read for it: of bodies most may be what no document shows. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** Anybody may ask: answers about more advisories than this are made for a few at once only. */
const MANY = 1000;
const MANY_AT_ONCE = 2;
/** Bodies in memory at once; what scanners found is in them, too. */
const CHUNK = 64;

export interface Documents {
  /** A JSON array of Document (platform.advisory.v2). @throws RESOURCE_EXHAUSTED where it would be too much */
  list(filter: DocumentFilter, db: ReadDb): Promise<string>;
}

export function createDocuments(publication: Publication): Documents {
  const largeAnswers = createConcurrencyLimit(MANY_AT_ONCE, () =>
    resourceExhausted("others are being given very many documents; try again, or ask for fewer", 5),
  );

  async function readRows(filter: DocumentFilter, db: ReadDb): Promise<DocumentRow[]> {
    const rows = await readDocumentRows(filter, MAX_ADVISORIES + 1, publication, db);
    if (rows.length > MAX_ADVISORIES) throw tooMany(`more than ${MAX_ADVISORIES} advisories`);
    return rows;
  }

  return {
    async list(filter, db) {
      const isAll = filter.id === "" && filter.cves.length === 0;
      // Where it is known before, reading which they are is part of the work.
      if (isAll && (await countFew(publication, db)) > MANY) return largeAnswers.run(async () => textOf(await readRows(filter, db), db));
      const rows = await readRows(filter, db);
      return rows.length <= MANY ? textOf(rows, db) : largeAnswers.run(() => textOf(rows, db));
    },
  };
}

/** By the maintained counts: a refusal costs nothing. */
async function countFew(publication: Publication, db: ReadDb): Promise<number> {
  const within = await publication.within(db);
  const below = Number((await countAdvisories(db, within === "all" ? ["/"] : within, sql<boolean>`latest_type <> 0`)).below);
  if (below > MAX_ADVISORIES) throw tooMany(`${below} advisories`);
  return below;
}

function tooMany(many: string): Error {
  return resourceExhausted(`${many} are too many for one answer: ask with id or cves, or take an organization's feed`);
}

/** Several advisories that are one in a document: about other architectures or components of the same package. */
interface Merged {
  readonly row: DocumentRow;
  readonly aliases: Set<string>;
  /** Time by text. */
  readonly events: Map<string, string>;
}

async function textOf(rows: readonly DocumentRow[], db: ReadDb): Promise<string> {
  const documents = new Map<string, string[]>();
  let length = 0;
  for await (const { row, aliases, events } of merged(rows.toSorted(inOrder), db)) {
    if (events.size === 0) continue;
    const history = [...events].sort(
      ([text, time], [otherText, otherTime]) => compareTexts(time, otherTime) || compareTexts(text, otherText),
    );
    const parts = `"events":[${history.map(([text]) => text).join(",")}],"aliases":${JSON.stringify([...aliases])}`;
    const text = `{"id":${JSON.stringify(row.advisory_id)},${parts},"packageNamespace":${JSON.stringify(row.namespace)}}`;
    length += text.length;
    if (length > MAX_CHARACTERS) throw tooMany(`more than ${MAX_CHARACTERS} characters`);
    const document = documents.get(row.origin);
    if (document === undefined) documents.set(row.origin, [text]);
    else document.push(text);
  }
  return `[${[...documents].map(([id, texts]) => `{"id":${JSON.stringify(id)},"advisories":[${texts.join(",")}]}`).join(",")}]`;
}

/** @param rows in order, so that those that are one stand together */
async function* merged(rows: readonly DocumentRow[], db: ReadDb): AsyncGenerator<Merged> {
  let current: Merged | undefined;
  let length = 0;
  for (let start = 0; start < rows.length; start += CHUNK) {
    const chunk = rows.slice(start, start + CHUNK);
    const bodies = await readBodies(chunk, db);
    for (const body of bodies.values()) length += body.length;
    if (length > MAX_CHARACTERS) throw tooMany(`advisories of more than ${MAX_CHARACTERS} characters`);
    for (const row of chunk) {
      if (current === undefined || keyOf(current.row) !== keyOf(row)) {
        if (current !== undefined) yield current;
        current = { row, aliases: new Set(), events: new Map() };
      }
      add(current, bodies.get(row.uid));
    }
    // SQLite answers at once: without this nobody else would be answered between chunks.
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

function add({ aliases, events }: Merged, body: string | undefined): void {
  if (body === undefined) return;
  const advisory = JSON.parse(body) as { aliases: string[]; events: StoredEvent[] };
  for (const alias of advisory.aliases) aliases.add(alias);
  for (const event of advisory.events) {
    const shown = documentEventOf(event);
    if (shown !== undefined) events.set(JSON.stringify(shown), event.createTime);
  }
}

/** Documents by their id, in them advisories by theirs. */
function inOrder(a: DocumentRow, b: DocumentRow): number {
  return (
    compareTexts(a.origin, b.origin) ||
    compareTexts(a.advisory_id, b.advisory_id) ||
    compareTexts(a.namespace, b.namespace) ||
    compareTexts(a.parent, b.parent) ||
    compareTexts(a.uid, b.uid)
  );
}
