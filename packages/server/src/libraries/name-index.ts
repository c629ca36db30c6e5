/** The search index of artifact names: finds artifacts by any part of their name, and counts them without reading another table. */
import type { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Entries } from "../api/resource/selection.ts";
import type { WriteDb } from "../db/store.ts";
import { gramsOf, rarestGramOf } from "../lib/grams.ts";

/** Lengths of indexed substrings, besides the three characters that `gramsOf` indexes. Short searches need them. */
const SHORT_LENGTHS = [1, 2];
const TABLE = "library_artifact_gram";

/** The substrings that an artifact's name is indexed by. */
export function indexedPartsOf(name: string): readonly string[] {
  return [...SHORT_LENGTHS.flatMap((length) => gramsOf(name, length)), ...gramsOf(name)];
}

export async function indexName(db: WriteDb, uid: string, name: string, ecosystem: Ecosystem): Promise<void> {
  const parts = db.selectFrom(db.dialect.valuesOf(indexedPartsOf(name)).as("g"));
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

/** @param name as it was indexed */
export async function dropName(db: WriteDb, uid: string, name: string, ecosystem: Ecosystem): Promise<void> {
  await db
    .deleteFrom(TABLE)
    .where("gram", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(indexedPartsOf(name)).as("g")).select("g.value"))
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

/** Literals instead of parameters, so that the statement is prepared once per set of ecosystems. */
export function ofEcosystems(ecosystems: readonly Ecosystem[]): RawBuilder<boolean> {
  return sql<boolean>`ecosystem in (${sql.join(ecosystems.map((ecosystem) => sql.lit(ecosystem)))})`;
}

/** A LIKE pattern that matches the text anywhere. */
export function patternOf(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
}
