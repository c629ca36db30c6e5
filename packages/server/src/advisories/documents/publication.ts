/** Which organizations' advisories everybody may read: what a setting names, and by default the organization that the first start made. */
import { readState } from "../../db/server-state.ts";
import type { ReadDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";

/** The server state that has the uid of the organization of the first start. */
export const FIRST_ORGANIZATION = "first_organization";

/** Uids of organizations, or which they are; uids that no organization has are as good as not there. */
export type PublicOrganizations = readonly string[] | "all" | "none" | "first";

export interface Publication {
  /** Of a group anywhere in an organization. */
  isPublic(db: ReadDb, groupUid: string): Promise<boolean>;
  /** Uids of the public organizations that there are. */
  groups(db: ReadDb): Promise<readonly string[]>;
  /** The same without a look at whether they are there, for conditions on what stands below them. */
  within(db: ReadDb): Promise<readonly string[] | "all">;
}

export function createPublication({ organizations }: { readonly organizations: PublicOrganizations }): Publication {
  const within = async (db: ReadDb): Promise<readonly string[] | "all"> => {
    if (organizations === "none") return [];
    if (organizations !== "first") return organizations;
    const first = await readState(db, FIRST_ORGANIZATION);
    return first === undefined ? [] : [first];
  };
  return {
    within,
    async isPublic(db, groupUid) {
      const roots = await within(db);
      return roots === "all" || roots.includes(rootOf(groupUid));
    },
    async groups(db) {
      const roots = await within(db);
      const all = db.selectFrom("group").select("uid").where("parent", "is", null).orderBy("uid");
      const rows = await (roots === "all"
        ? all
        : all.where("uid", "in", db.selectFrom(db.dialect.valuesOf(roots).as("v")).select("v.value"))
      ).execute();
      return rows.map(({ uid }) => uid);
    },
  };
}
