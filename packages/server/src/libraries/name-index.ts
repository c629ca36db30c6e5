/** The index by which artifacts are found by any part of their name, and counted without a look at anything else. */
import type { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Entries } from "../api/resource/selection.ts";
import type { WriteDb } from "../db/store.ts";
import { gramsOf, rarestGramOf } from "../lib/grams.ts";

/** People search for as few as one; of three there are fewer names that have them. */
const SHORT = [1, 2];
const TABLE = "library_artifact_gram";

/** What an artifact's name is found by. */
export function partsOf(name: string): readonly string[] {
  return [...SHORT.flatMap((length) => gramsOf(name, length)), ...gramsOf(name)];
}

export async function indexName(db: WriteDb, uid: string, name: string, ecosystem: Ecosystem): Promise<void> {
  const parts = db.selectFrom(db.dialect.valuesOf(partsOf(name)).as("g"));
  await db
    .insertInto(TABLE)
    .columns(["gram", "ecosystem", "name", "artifact_uid"])
    .expression(
      parts.select((g) => [
        "g.value",
        g.lit(ecosystem).as("ecosystem"),
        g.val(name.toLowerCase()).as("name"),
        g.val(uid).as("artifact_uid"),
      ]),
    )
    .execute();
}

/** To be called with the name that the artifact was made with. */
export async function dropName(db: WriteDb, uid: string, name: string, ecosystem: Ecosystem): Promise<void> {
  await db
    .deleteFrom(TABLE)
    .where("gram", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(partsOf(name)).as("g")).select("g.value"))
    .where("ecosystem", "=", ecosystem)
    .where("name", "=", name.toLowerCase())
    .where("artifact_uid", "=", uid)
    .execute();
}

/** @param text not empty */
export function entriesNamed(text: string, ecosystems: readonly Ecosystem[]): Entries {
  const part = rarestGramOf(text) ?? text.toLowerCase();
  const rest = part === text.toLowerCase() ? [] : [sql`name like ${patternOf(text)} escape '\\'`];
  const where = sql<boolean>`${sql.join([sql`gram = ${part}`, ofEcosystems(ecosystems), ...rest], sql` and `)}`;
  return { table: TABLE, uid: sql`artifact_uid`, where };
}

/** Literal, so that all statements of a kind are one. */
export function ofEcosystems(ecosystems: readonly Ecosystem[]): RawBuilder<boolean> {
  return sql<boolean>`ecosystem in (${sql.join(ecosystems.map((ecosystem) => sql.lit(ecosystem)))})`;
}

/** Finds a text anywhere. */
export function patternOf(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
}
