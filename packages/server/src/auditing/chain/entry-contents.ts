/** Reads the contents of entries. */
import { sql } from "kysely";
import { MAX_PAGE_BYTES } from "../../api/resource/page-bytes.ts";
import { type Placeholders, prepare } from "../../db/prepared.ts";
import type { ReadDb } from "../../db/store.ts";
import type { ChainEntry } from "./block.ts";

const contentsBySeq = prepare((db, param: Placeholders<{ seqs: readonly { readonly seq: number }[] }>) => {
  const wanted = sql`${db.dialect.rowsOf(param("seqs"), { seq: "bigint" })} as r`;
  const found = db.dialect.lookUp(sql`e.seq, e.content`, wanted, sql`audit_entry as e`, sql`e.seq = r.seq`);
  return sql<{ seq: number; content: string }>`${found}`.compile(db);
});

/** @returns content by seq */
export async function readContents(db: ReadDb, seqs: readonly number[]): Promise<Map<number, string>> {
  if (seqs.length === 0) return new Map();
  const rows = await contentsBySeq.rows(db, { seqs: seqs.map((seq) => ({ seq })) });
  return new Map(rows.map(({ seq, content }) => [Number(seq), content]));
}

/** An entry of a batch may have 1.5 MB, so a read ends by bytes, too. Clients of gRPC refuse messages of more than 4 MiB by default. */
export const MAX_READ_BYTES = MAX_PAGE_BYTES;

export function bytesOf({ content = "" }: Pick<ChainEntry, "content">): number {
  return Buffer.byteLength(content);
}

interface ContentRow {
  readonly place: number;
  readonly seq: number;
  readonly content: string;
  /** Number of the rows that are there. */
  readonly present: number;
}

const firstContentsBySeq = prepare((db, param: Placeholders<{ seqs: readonly { readonly place: number; readonly seq: number }[] }>) => {
  const wanted = sql`${db.dialect.rowsOf(param("seqs"), { place: "bigint", seq: "bigint" })} as r`;
  const columns = sql`r.place, e.seq, octet_length(e.content) as size`;
  const sized = db.dialect.lookUp(columns, wanted, sql`audit_entry as e`, sql`e.seq = r.seq`);
  const summed = sql`select f.*, sum(f.size) over (order by f.place) as total, count(*) over () as present from (${sized}) as f`;
  return sql<ContentRow>`select s.place, s.seq, s.present, (select e.content from audit_entry as e where e.seq = s.seq) as content
    from (${summed}) as s where s.total - s.size < ${sql.lit(MAX_READ_BYTES)} order by s.place`.compile(db);
});

/** @returns content by seq, up to the one that reaches `MAX_READ_BYTES`, and the number of seqs that were read */
export async function readFirstContents(
  db: ReadDb,
  seqs: readonly number[],
): Promise<{ readonly contents: ReadonlyMap<number, string>; readonly count: number }> {
  const rows = seqs.length === 0 ? [] : await firstContentsBySeq.rows(db, { seqs: seqs.map((seq, place) => ({ place, seq })) });
  const contents = new Map(rows.map(({ seq, content }) => [Number(seq), content]));
  const isCut = rows.length < Number(rows[0]?.present ?? 0);
  return { contents, count: isCut ? Number(rows.at(-1)?.place) + 1 : seqs.length };
}
