/**
 * Requests that the packages of images are compared with advisories again, and that images are looked at again. Advisories
 * request it in the transaction that changes them; findings/ works on the requests.
 */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";
import { packageKey } from "../model/package-key.ts";
import { statementKey } from "../model/statement-key.ts";
import type { AdvisoryTable, MatchRequestTable } from "../tables.ts";
import { insertRows } from "./insert-rows.ts";

type Artifact = Pick<AdvisoryTable, "uid" | "artifact_type" | "artifact_name" | "component_name">;

export async function requestMatching(db: WriteDb, artifacts: readonly Artifact[]): Promise<void> {
  const requests = artifacts.flatMap((artifact) =>
    keysOf(artifact).map((name) => ({ org_uid: rootOf(artifact.uid), kind: "advisory" as const, name })),
  );
  await insertRequests(db, requests);
}

function keysOf(artifact: Artifact): string[] {
  const statement = statementKey(artifact);
  return [packageKey(artifact.artifact_type, artifact.artifact_name), ...(statement === undefined ? [] : [statement])];
}

type NewRequest = Omit<MatchRequestTable, "token">;

/** Replaces the token of a request that waits, so that a server that works on it begins again. */
export async function insertRequests(db: WriteDb, requests: readonly NewRequest[]): Promise<void> {
  await insertRows<MatchRequestTable>(db, "match_request", ["org_uid", "kind", "name"], rowsOf(requests));
}

/** Keeps a request that waits as it is. For the server that works on the organization's requests, one after another. */
export async function insertWaiting(db: WriteDb, requests: readonly NewRequest[]): Promise<void> {
  await insertRows<MatchRequestTable>(db, "match_request", [], rowsOf(requests));
}

/** Sorted, so that transactions that request the same do not deadlock. */
function rowsOf(requests: readonly NewRequest[]): MatchRequestTable[] {
  const token = randomUUID();
  const unique = new Map(requests.map((request) => [`${request.org_uid} ${request.kind} ${request.name}`, { ...request, token }]));
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

const ARTIFACT = ["uid", "artifact_type", "artifact_name", "component_name"] as const;

/** @param uids of advisories */
export async function requestMatchingOf(db: WriteDb, uids: readonly string[]): Promise<void> {
  if (uids.length === 0) return;
  const wanted = db.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value");
  const rows = await db.selectFrom("advisory").select(ARTIFACT).where("uid", "in", wanted).execute();
  await requestMatching(db, rows);
}

/** @param ids of vulnerability records whose severities changed */
export async function requestMatchingOfVulnerabilities(db: WriteDb, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await requestMatching(db, await findAdvisoriesAbout(db, ids));
}

export interface AdvisoryCount {
  /** The id of a vulnerability. */
  readonly id: string;
  readonly count: number;
}

/** Counts at most about `limit` advisories of each vulnerability, deleted ones included. */
export async function countAdvisoriesAbout(db: ReadDb, ids: readonly string[], limit: number): Promise<AdvisoryCount[]> {
  const { rows } = await sql<AdvisoryCount>`select v.value as id,
    (select count(*) from (select 1 from advisory_alias as l where l.alias = v.value limit ${limit}) as aliases)
      + (select count(*) from (select 1 from advisory as a where a.advisory_id = v.value limit ${limit}) as named) as count
    from ${db.dialect.valuesOf(ids)} as v`.execute(db);
  return rows.map(({ id, count }) => ({ id, count: Number(count) }));
}

async function findAdvisoriesAbout(db: ReadDb, ids: readonly string[]): Promise<readonly Artifact[]> {
  const wanted = db.dialect.valuesOf(ids);
  const { rows } = await sql<Artifact>`
    select a.uid, a.artifact_type, a.artifact_name, a.component_name from ${wanted} as v
      cross join advisory_alias as l cross join advisory as a where l.alias = v.value and a.uid = l.advisory_uid and a.delete_time is null
    union select a.uid, a.artifact_type, a.artifact_name, a.component_name from ${wanted} as v
      cross join advisory as a where a.advisory_id = v.value and a.delete_time is null`.execute(db);
  return rows;
}
