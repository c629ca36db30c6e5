/** Appends audit entries to the transaction of the change that they are about. Sealing them is the work of auditing/. */
import { CompiledQuery } from "kysely";
import type { Store, WriteDb } from "../db/store.ts";
import { type AuditFacts, contentOf } from "./audit-entry.ts";
import "./tables.ts";

// Compiling the statement would cost as much as running it.
const INSERT = {
  sqlite: CompiledQuery.raw("insert into audit_entry (content) values (?)"),
  postgres: CompiledQuery.raw("insert into audit_entry (content) values ($1)"),
};

export function appendAudit(db: WriteDb, facts: AuditFacts): Promise<void> {
  return insertContent(db, contentOf(facts));
}

async function insertContent(db: WriteDb, content: string): Promise<void> {
  await db.append({ ...INSERT[db.dialect.name], parameters: [content] });
}

/** Lets an entry wait for `appendWithWaiting` or `appendWaiting`: one statement costs PostgreSQL less than two. */
export function deferAudit(db: WriteDb, facts: AuditFacts): void {
  db.audit.waiting = contentOf(facts);
}

/** Appends the entry that waits, if there is one. */
export async function appendWaiting(db: WriteDb): Promise<void> {
  const { waiting } = db.audit;
  delete db.audit.waiting;
  if (waiting !== undefined) await insertContent(db, waiting);
}

/** Appends an insert, on PostgreSQL in one statement with the insert of the entry that waits. */
export async function appendWithWaiting(db: WriteDb, insert: CompiledQuery): Promise<void> {
  const { waiting } = db.audit;
  if (waiting === undefined || db.dialect.isInProcess) return db.append(insert);
  delete db.audit.waiting;
  await db.append({ ...insert, sql: withEntry(insert, db), parameters: [...insert.parameters, waiting] });
}

/** By the text of the other insert, which are few: a connection finds its prepared statement faster by the same string. */
const sharedTexts = new Map<string, string>();

function withEntry({ sql, parameters }: CompiledQuery, { dialect }: WriteDb): string {
  const known = sharedTexts.get(sql);
  if (known !== undefined) return known;
  const text = `with inserted as (${sql}) insert into audit_entry (content) values (${dialect.placeholder(parameters.length + 1)})`;
  sharedTexts.set(sql, text);
  return text;
}

/** The facts of a change that is not a call, without the fields that its transaction has noted. */
export type ProtocolFacts = Omit<AuditFacts, "changes" | "now">;

/**
 * A store whose transactions each append an entry with these facts, for protocols whose requests are not calls. A transaction
 * that notes no change appends none.
 */
export function auditedStore(store: Store, facts: ProtocolFacts, now: () => Date): Store {
  return {
    dialect: store.dialect,
    reader: store.reader,
    freePages: store.freePages,
    snapshot: (work) => store.snapshot(work),
    ping: () => store.ping(),
    usage: () => store.usage(),
    transaction: (work, options) =>
      store.transaction(async (db) => {
        db.audit.isCovered = true;
        const result = await work(db);
        const { changes } = db.audit;
        if (changes.length > 0) await appendAudit(db, { ...facts, changes, now: now() });
        return result;
      }, options),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
