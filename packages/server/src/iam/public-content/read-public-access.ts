/** Reads the rights that everybody has: those to public content. */
import { Access } from "../../access/capabilities.ts";
import { capabilitySetFromHex } from "../../access/capability-set.ts";
import type { ReadDb } from "../../db/store.ts";

const NO_MEMBERSHIPS = { joined: new Set<string>(), left: new Set<string>() };

/** The rights of an anonymous caller. */
export async function readPublicAccess(db: ReadDb): Promise<Access> {
  const rows = await db.selectFrom("public_content").select(["uid", "capabilities"]).orderBy("uid").execute();
  return new Access(new Map(rows.map(({ uid, capabilities }) => [uid, capabilitySetFromHex(capabilities)])), NO_MEMBERSHIPS);
}
