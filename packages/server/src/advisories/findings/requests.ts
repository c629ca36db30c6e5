/** The requests of one organization: which are next, and their removal with the results. */
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import { readState, setState } from "../../db/server-state.ts";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { MatchRequestTable } from "../tables.ts";
import type { MatchContext } from "./match-context.ts";

type Kind = MatchRequestTable["kind"];

export interface Request {
  readonly name: string;
  readonly token: string;
}

export interface Batch {
  readonly orgUid: string;
  readonly kind: Kind;
  readonly requests: readonly Request[];
}

/** In the order of work, with the requests per batch. Events come last, when all findings of an image are known. */
const kinds: readonly (readonly [Kind, number])[] = [
  ["image", 50],
  ["advisory", 500],
  ["package", 100],
  ["quiet", 50],
  ["alert", 50],
];

/** Undefined if nothing waits. */
export async function nextBatch(db: ReadDb, orgUid: string): Promise<Batch | undefined> {
  for (const [kind, size] of kinds) {
    const query = db.selectFrom("match_request").select(["name", "token"]).where("org_uid", "=", orgUid).where("kind", "=", kind);
    const requests = await query.orderBy("name").limit(size).execute();
    if (requests.length > 0) return { orgUid, kind, requests };
  }
  return undefined;
}

/** Removes the requests whose tokens are the same. @returns their names */
export async function removeRequests(db: WriteDb, { orgUid, kind, requests }: Batch): Promise<ReadonlySet<string>> {
  const known = db.dialect.rowsOf(requests, { name: "text", token: "text" });
  const { rows } = await sql<{ name: string }>`delete from match_request where org_uid = ${orgUid} and kind = ${kind}
    and (name, token) in (select k.name, k.token from ${known} as k) returning name`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

/** Requests the organizations' packages with these keys to be compared. @param orgUid undefined for all organizations */
export async function requestPackages(db: WriteDb, keys: readonly string[], orgUid: string | undefined): Promise<void> {
  const wanted = db.dialect.valuesOf(keys);
  const ofOrganization = orgUid === undefined ? sql`1 = 1` : sql`p.org_uid = ${orgUid}`;
  await sql`insert into match_request (org_uid, kind, name, token)
    select found.org_uid, 'package', found.name, ${randomUUID()} from (
      select p.org_uid, v.value as name from ${wanted} as v cross join matched_package as p where p.match_name = v.value and ${ofOrganization}
      union select p.org_uid, v.value as name from ${wanted} as v cross join matched_package as p where p.match_origin = v.value and ${ofOrganization}
    ) as found where 1 = 1 order by found.org_uid, found.name
    on conflict (org_uid, kind, name) do update set token = excluded.token`.execute(db);
}

/** The images of an organization that are looked for packages in one statement. */
const IMAGES_PER_PAGE = 200;

/**
 * Requests a look at the images of these packages for critical findings, unless their first look must stay quiet. Many
 * images have the same packages, so this takes a transaction per page of images.
 */
export async function requestAlerts({ store, write }: MatchContext, orgUid: string, packageIds: readonly number[]): Promise<void> {
  if (packageIds.length === 0) return;
  for (
    let page = await imagesAfter(store.reader, orgUid, 0);
    page.length > 0;
    page = await imagesAfter(store.reader, orgUid, page.at(-1)!)
  ) {
    const digests = await imagesWith(store.reader, packageIds, page);
    if (digests.length > 0) await write((db) => insertAlerts(db, orgUid, digests));
    await nextTurn();
  }
}

async function imagesAfter(db: ReadDb, orgUid: string, after: number): Promise<number[]> {
  const query = db.selectFrom("matched_image").select("id").where("org_uid", "=", orgUid).where("id", ">", after);
  return (await query.orderBy("id").limit(IMAGES_PER_PAGE).execute()).map(({ id }) => Number(id));
}

/** @param images ids, sorted, without a gap. @returns digests */
async function imagesWith(db: ReadDb, packageIds: readonly number[], images: readonly number[]): Promise<string[]> {
  const ids = db.dialect.rowsOf(
    packageIds.map((id) => ({ id })),
    { id: "bigint" },
  );
  const { rows } = await sql<{ digest: string }>`select i.digest from matched_image as i where i.id in (
    select l.image_id from ${ids} as p cross join matched_image_package as l
      where l.package_id = p.id and l.image_id >= ${images[0]} and l.image_id <= ${images.at(-1)})`.execute(db);
  return rows.map(({ digest }) => digest);
}

async function insertAlerts(db: WriteDb, orgUid: string, digests: readonly string[]): Promise<void> {
  await sql`insert into match_request (org_uid, kind, name, token)
    select ${orgUid}, 'alert', v.value, ${randomUUID()} from ${db.dialect.valuesOf(digests)} as v
      where not exists (select 1 from match_request as q where q.org_uid = ${orgUid} and q.kind = 'quiet' and q.name = v.value)
      order by v.value
    on conflict (org_uid, kind, name) do update set token = excluded.token`.execute(db);
}

/** Name of the server state that holds the rules of the last comparison. */
const RULES = "matching_rules";

/** Packages whose comparison is requested in one transaction. */
const PACKAGES_PER_PAGE = 2000;

/** Requests all packages to be compared, unless the rules are those of the last comparison. Takes a transaction per page of packages. */
export async function requestEverything(store: Store, rules: string): Promise<void> {
  if ((await readState(store.reader, RULES)) === rules) return;
  const token = randomUUID();
  for (let page = await pageAfter(store.reader, 0); page !== undefined; page = await pageAfter(store.reader, page.last)) {
    const { after, last } = page;
    await store.transaction(async (db) => {
      await sql`insert into match_request (org_uid, kind, name, token)
        select distinct p.org_uid, 'package', p.match_name, ${token} from matched_package as p where p.id > ${after} and p.id <= ${last}
        order by p.org_uid, p.match_name on conflict (org_uid, kind, name) do update set token = excluded.token`.execute(db);
    });
    await nextTurn();
  }
  await store.transaction((db) => setState(db, RULES, rules));
}

/** Ids of packages, without the first and with the last. */
interface Page {
  readonly after: number;
  readonly last: number;
}

/** Undefined after the last package. */
async function pageAfter(db: ReadDb, after: number): Promise<Page | undefined> {
  const rows = await db.selectFrom("matched_package").select("id").where("id", ">", after).orderBy("id").limit(PACKAGES_PER_PAGE).execute();
  const last = rows.at(-1);
  return last === undefined ? undefined : { after, last: Number(last.id) };
}
