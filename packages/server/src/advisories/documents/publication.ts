/**
 * Decides which organizations' advisories are public. A setting names them; the default is the organization that the
 * first start created.
 */
import { readState } from "../../db/server-state.ts";
import type { ReadDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";

/** Name of the server state that holds the uid of the organization that the first start created. */
export const FIRST_ORGANIZATION = "first_organization";

/** Uids of organizations, or a keyword. Uids of organizations that do not exist have no effect. */
export type PublicOrganizations = readonly string[] | "all" | "none" | "first";

export interface Publication {
  /** @param groupUid any group of an organization */
  isPublic(db: ReadDb, groupUid: string): Promise<boolean>;
  /** Uids of the existing public organizations. */
  organizations(db: ReadDb): Promise<readonly string[]>;
  /** Uids of the public organizations without a check that they exist, for conditions on what is below them. */
  roots(db: ReadDb): Promise<readonly string[] | "all">;
}

export interface PublicationOptions {
  readonly organizations: PublicOrganizations;
}

export function createPublication({ organizations }: PublicationOptions): Publication {
  const findRoots = async (db: ReadDb): Promise<readonly string[] | "all"> => {
    if (organizations === "none") return [];
    if (organizations !== "first") return organizations;
    const first = await readState(db, FIRST_ORGANIZATION);
    return first === undefined ? [] : [first];
  };
  return {
    roots: findRoots,
    async isPublic(db, groupUid) {
      const roots = await findRoots(db);
      return roots === "all" || roots.includes(rootOf(groupUid));
    },
    async organizations(db) {
      const roots = await findRoots(db);
      const all = db.selectFrom("group").select("uid").where("parent", "is", null).orderBy("uid");
      const rows = await (roots === "all"
        ? all
        : all.where("uid", "in", db.selectFrom(db.dialect.valuesOf(roots).as("v")).select("v.value"))
      ).execute();
      return rows.map(({ uid }) => uid);
    },
  };
}
