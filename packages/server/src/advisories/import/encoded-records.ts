/**
 * Passes prepared records between threads as a flat list of strings and numbers. Cloning it takes less time than encoding and
 * decoding JSON, which escapes each body. The record itself is parsed only if its advisory is stored already.
 */
import type { DerivedAdvisory } from "../storage/derive.ts";
import type { AdvisoryTable } from "../tables.ts";
import type { PreparedRecord } from "./prepare-advisory.ts";
import type { AdvisoryRecord } from "./record.ts";

type Value = string | number | null;

export interface EncodedRecords {
  /** The order of the columns of each row. */
  readonly columns: readonly string[];
  readonly values: readonly Value[];
}

export function encodeRecords(records: readonly PreparedRecord[]): EncodedRecords {
  const first = records.find(({ newAdvisory }) => "derived" in newAdvisory)?.newAdvisory;
  const columns = first !== undefined && "derived" in first ? (Object.keys(first.derived.row) as (keyof AdvisoryTable)[]) : [];
  const values: Value[] = [];
  const add = (list: readonly string[]) => values.push(list.length, ...list);
  for (const { file, position, about, record, newAdvisory, newAffected } of records) {
    values.push(file, position, about, JSON.stringify(record));
    values.push(newAffected?.modified_time ?? null, newAffected?.entries ?? null);
    values.push("problem" in newAdvisory ? newAdvisory.problem : null);
    if ("problem" in newAdvisory) continue;
    const { row, aliases, terms } = newAdvisory.derived;
    for (const column of columns) values.push(row[column]);
    add(aliases);
    add(terms);
  }
  return { columns, values };
}

export function decodeRecords({ columns, values }: EncodedRecords): PreparedRecord[] {
  const records: PreparedRecord[] = [];
  let at = 0;
  const next = <T extends Value>() => values[at++] as T;
  const list = () => Array.from({ length: next<number>() }, () => next<string>());
  while (at < values.length) {
    const file = next<string>();
    const position = next<string>();
    const about = next<string>();
    const text = next<string>();
    const modified_time = next<string | null>();
    const entries = next<string | null>();
    const problem = next<string | null>();
    const newAffected = modified_time === null || entries === null ? undefined : { modified_time, entries };
    const newAdvisory = problem === null ? { derived: derivedFrom(columns, next, list) } : { problem };
    records.push(new DecodedRecord({ file, position, about, newAdvisory, newAffected }, text));
  }
  return records;
}

function derivedFrom(columns: readonly string[], next: () => Value, list: () => string[]): DerivedAdvisory {
  const row: Record<string, Value> = {};
  for (const column of columns) row[column] = next();
  return { row: row as unknown as AdvisoryTable, aliases: list(), terms: list() };
}

class DecodedRecord implements PreparedRecord {
  readonly file: string;
  readonly position: string;
  readonly about: string;
  readonly newAdvisory: PreparedRecord["newAdvisory"];
  readonly newAffected: PreparedRecord["newAffected"];
  #record: AdvisoryRecord | string;

  constructor(parts: Omit<PreparedRecord, "record">, text: string) {
    this.file = parts.file;
    this.position = parts.position;
    this.about = parts.about;
    this.newAdvisory = parts.newAdvisory;
    this.newAffected = parts.newAffected;
    this.#record = text;
  }

  get record(): AdvisoryRecord {
    if (typeof this.#record === "string") this.#record = JSON.parse(this.#record) as AdvisoryRecord;
    return this.#record;
  }
}
