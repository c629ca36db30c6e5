/** Adds to the bodies of repos what a repo of version 1 contains in addition: the readme, and fields of its own. */
import { sql } from "kysely";
import { uidOfBody } from "../../../api/resource/fields-of-body.ts";
import { MAX_PAGE_BYTES } from "../../../api/resource/page-bytes.ts";
import type { ReadDb } from "../../../db/store.ts";
import type { SyncGrants } from "../../sync/sync-right.ts";
import { readmeOf } from "../readmes.ts";
import { withOwnFields } from "./own-fields.ts";

/** @param bodies as stored @returns the same with the member `readme`; after a full page, bodies without it, which the page leaves out */
export async function showReadmes(bodies: readonly string[], db: ReadDb, grants: SyncGrants): Promise<readonly string[]> {
  const uids = bodies.map(uidOfBody);
  const rows = await findReadmes(uids, db);
  const shown: string[] = [];
  let bytes = 0;
  const own: string[] = [];
  for (const [at, uid] of uids.entries()) {
    if (bytes > MAX_PAGE_BYTES) break;
    const row = rows.get(uid);
    const synced = row?.is_synced ? await readmeOf(uid, db, grants) : "";
    if (row !== undefined && !row.is_synced && row.bytes > 0) own.push(uid);
    shown.push(synced);
    bytes += (bodies[at] as string).length + synced.length + (row?.bytes ?? 0);
  }
  const contents = await readContents(own, db);
  return bodies.map((body, at) => {
    if (at >= shown.length) return body;
    const uid = uids[at] as string;
    return withReadme(withOwnFields(body, rows.get(uid)?.version_one ?? null), contents.get(uid) ?? (shown[at] as string));
  });
}

/** SQL of the bytes of a repo with its readme, which may be that of its source. */
export const BYTES_WITH_README = sql`octet_length(body) + coalesce((
  select octet_length(r.content) from repo_readme as r where r.uid = coalesce(repo.source, repo.uid)), 0)`;

interface ReadmeRow {
  readonly is_synced: boolean;
  readonly bytes: number;
  readonly version_one: string | null;
}

/** Reads only the sizes of readmes, because a page of readmes could exceed its limit many times. */
async function findReadmes(uids: readonly string[], db: ReadDb): Promise<ReadonlyMap<string, ReadmeRow>> {
  const rows = await db
    .selectFrom("repo")
    .leftJoin("repo_readme", "repo_readme.uid", "repo.uid")
    .select(["repo.uid as uid", "repo.source as source", "repo.version_one as version_one"])
    .select((eb) => eb.fn<number | null>("octet_length", ["repo_readme.content"]).as("bytes"))
    .where("repo.uid", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(uids).as("wanted")).select("wanted.value"))
    .execute();
  return new Map(
    rows.map(({ uid, source, bytes, version_one }) => [uid, { is_synced: source !== null, bytes: Number(bytes ?? 0), version_one }]),
  );
}

async function readContents(uids: readonly string[], db: ReadDb): Promise<ReadonlyMap<string, string>> {
  if (uids.length === 0) return new Map();
  const rows = await db
    .selectFrom("repo_readme")
    .select(["uid", "content"])
    .where("uid", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(uids).as("wanted")).select("wanted.value"))
    .execute();
  return new Map(rows.map(({ uid, content }) => [uid, content]));
}

function withReadme(body: string, readme: string): string {
  return `${body.slice(0, -1)},"readme":${JSON.stringify(readme)}}`;
}
