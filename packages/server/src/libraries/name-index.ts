/** The search index of artifact names: finds artifacts by any part of their name, and counts them without reading another table. */
import type { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Entries } from "../api/resource/selection.ts";
import type { WriteDb } from "../db/store.ts";
import { gramsOf } from "../lib/grams.ts";
import { appendToNameCounts } from "./name-counts.ts";

/** Lengths of indexed substrings, besides the three characters that `gramsOf` indexes. Short searches need them. */
const SHORT_LENGTHS = [1, 2];
const TABLE = "library_artifact_gram";

/** The substrings that an artifact's name is indexed by. */
export function indexedPartsOf(name: string): readonly string[] {
  return [...SHORT_LENGTHS.flatMap((length) => gramsOf(name, length)), ...gramsOf(name)];
}

/** The indexed substrings of a search. A name that contains the text contains all of them. The empty string stands for all names. */
export function searchedPartsOf(text: string): readonly string[] {
  const parts = gramsOf(text);
  return parts.length === 0 ? [text.toLowerCase()] : parts;
}

/** Whether the names that contain the text are those that the index and the counts have under one of its parts. */
export function isPart(text: string): boolean {
  return searchedPartsOf(text)[0] === text.toLowerCase();
}

/** The substrings that an artifact's name is counted by. Each name contains the empty string. */
function countedPartsOf(name: string): readonly string[] {
  return ["", ...indexedPartsOf(name)];
}

export interface IndexedArtifact {
  readonly uid: string;
  readonly name: string;
  readonly ecosystem: Ecosystem;
}

/** Indexes the name of a new artifact without versions. */
export async function indexName(db: WriteDb, { uid, name, ecosystem }: IndexedArtifact): Promise<void> {
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
  await appendToNameCounts(db, { uid, ecosystem, remediated: 0 }, countedPartsOf(name), 1);
}

/** @param name as it was indexed @param remediated as it is stored */
export async function dropName(db: WriteDb, { uid, name, ecosystem }: IndexedArtifact, remediated: number): Promise<void> {
  await db
    .deleteFrom(TABLE)
    .where("gram", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(indexedPartsOf(name)).as("g")).select("g.value"))
    .where("ecosystem", "=", ecosystem)
    .where("name", "=", name.toLowerCase())
    .where("artifact_uid", "=", uid)
    .execute();
  await appendToNameCounts(db, { uid, ecosystem, remediated }, countedPartsOf(name), -1);
}

/** Counts the artifact's name anew after a change of the column `remediated`. */
export async function recountName(
  db: WriteDb,
  { uid, name, ecosystem }: IndexedArtifact,
  { before, after }: { readonly before: number; readonly after: number },
): Promise<void> {
  if (before === after) return;
  const parts = countedPartsOf(name);
  for (const remediated of [0, 1]) await appendToNameCounts(db, { uid, ecosystem, remediated }, parts, remediated === after ? 1 : -1);
}

/** Entries of artifacts whose name contains the text. @param part one of the searched parts @param text not empty */
export function entriesNamed(text: string, part: string, ecosystems: readonly Ecosystem[]): Entries {
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
