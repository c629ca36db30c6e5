/** Loads group memberships for responses: the `groups` of users and the `members` of groups. */
import { sql } from "kysely";
import type { ReadDb } from "../db/store.ts";
import type { Json } from "./schema.ts";
import { badRequest } from "./scim-error.ts";
import type { ResourceStorage } from "./storage.ts";

const MAX_LINKS_PER_RESPONSE = 50_000;

/**
 * How many of the first resources fit into one response with all their links.
 * @throws ScimError tooMany if the first one alone does not fit
 */
export async function countWithinLinkLimit(db: ReadDb, { link }: ResourceStorage, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const own = sql.ref(`scim_group_member.${link.own}`);
  const wanted = sql`select v.value from ${db.dialect.valuesOf(ids)} as v`;
  const query = sql<{ id: string; links: number | string }>`
    select ${own} as id, count(*) as links from scim_group_member where ${own} in (${wanted}) group by ${own}`;
  const { rows } = await query.execute(db);
  const counts = new Map(rows.map(({ id, links }) => [id, Number(links)]));
  let sum = 0;
  const first = ids.findIndex((id) => {
    sum += counts.get(id) ?? 0;
    return sum > MAX_LINKS_PER_RESPONSE;
  });
  if (first === 0)
    throw badRequest("tooMany", `more than ${MAX_LINKS_PER_RESPONSE} ${link.attribute}: use excludedAttributes=${link.attribute}`);
  return first < 0 ? ids.length : first;
}

/** The links by resource id, in the form of the resource's attribute. */
export function loadLinks(db: ReadDb, storage: ResourceStorage, ids: readonly string[], base: string): Promise<Map<string, Json[]>> {
  return storage.table === "scim_user" ? loadGroups(db, ids, base) : loadMembers(db, ids, base);
}

async function loadGroups(db: ReadDb, userIds: readonly string[], base: string): Promise<Map<string, Json[]>> {
  const rows = await db
    .selectFrom("scim_group_member")
    .innerJoin("scim_group", "scim_group.id", "scim_group_member.group_id")
    .select(["scim_group_member.user_id", "scim_group.id", "scim_group.body"])
    .where("scim_group_member.user_id", "in", db.selectFrom(db.dialect.valuesOf(userIds).as("v")).select("v.value"))
    .orderBy("scim_group.id")
    .execute();
  const groups = new Map<string, Json[]>();
  for (const { user_id, id, body } of rows) {
    const { displayName } = JSON.parse(body) as { displayName: string };
    appendLink(groups, user_id, { value: id, $ref: `${base}/Groups/${id}`, display: displayName, type: "direct" });
  }
  return groups;
}

async function loadMembers(db: ReadDb, groupIds: readonly string[], base: string): Promise<Map<string, Json[]>> {
  const rows = await db
    .selectFrom("scim_group_member")
    .select(["group_id", "user_id"])
    .where("group_id", "in", db.selectFrom(db.dialect.valuesOf(groupIds).as("v")).select("v.value"))
    .orderBy("group_id")
    .orderBy("user_id")
    .execute();
  const members = new Map<string, Json[]>();
  for (const { group_id, user_id } of rows)
    appendLink(members, group_id, { value: user_id, $ref: `${base}/Users/${user_id}`, type: "User" });
  return members;
}

function appendLink(links: Map<string, Json[]>, id: string, link: Json): void {
  const known = links.get(id);
  if (known === undefined) links.set(id, [link]);
  else known.push(link);
}
