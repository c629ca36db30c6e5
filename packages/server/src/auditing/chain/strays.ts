/** Finds rows of entries that no block has: somebody has inserted them, since sealing leaves none behind. */
import type { ReadDb } from "../../db/store.ts";
import { numbersOf } from "./block.ts";
import { readSealState } from "./seal.ts";

const BLOCKS_PER_READ = 200;
const ROWS_PER_READ = 10_000;

/** @param db one snapshot. @returns the number of the first such row; undefined if there is none */
export async function findStray(db: ReadDb): Promise<number | undefined> {
  const { seq: last, gaps } = await readSealState(db);
  const sealed = new SeqSet(last);
  for await (const seq of sealedSeqs(db)) sealed.add(seq);
  for (const { seq } of gaps) sealed.add(seq);
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const query = db.selectFrom("audit_entry").select("seq").where("seq", ">", after).where("seq", "<=", last);
    const rows = (await query.orderBy("seq").limit(ROWS_PER_READ).execute()).map(({ seq }) => Number(seq));
    const stray = rows.find((seq) => !sealed.has(seq));
    if (stray !== undefined || rows.length < ROWS_PER_READ) return stray;
    after = rows.at(-1) as number;
  }
}

async function* sealedSeqs(db: ReadDb): AsyncGenerator<number> {
  for (let after = 0; ; ) {
    const query = db.selectFrom("audit_block").select(["id", "seqs"]).where("id", ">", after);
    const rows = await query.orderBy("id").limit(BLOCKS_PER_READ).execute();
    for (const { seqs } of rows) yield* numbersOf(seqs);
    if (rows.length < BLOCKS_PER_READ) return;
    after = Number(rows.at(-1)?.id);
  }
}

/** One bit per number, so that ten million entries take little memory. */
class SeqSet {
  readonly #bits: Uint8Array;

  constructor(last: number) {
    this.#bits = new Uint8Array(Math.floor(last / 8) + 1);
  }

  add(seq: number): void {
    const byte = Math.floor(seq / 8);
    if (byte < this.#bits.length) this.#bits[byte] = (this.#bits[byte] as number) | (1 << (seq % 8));
  }

  has(seq: number): boolean {
    return seq >= 0 && ((this.#bits[Math.floor(seq / 8)] ?? 0) & (1 << (seq % 8))) !== 0;
  }
}
