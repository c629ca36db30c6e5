/** Writes the rows of many advisories, new and changed ones, with a few statements. In the caller's transaction. */
import type { RowColumns } from "../../db/dialect.ts";
import type { AdvisoryEventTable, AdvisoryTable } from "../../db/schema.ts";
import type { WriteDb } from "../../db/store.ts";
import { gramsOf } from "../../lib/grams.ts";
import { eventRow, termsOf } from "../derive.ts";
import { IF_NEW, insertRows, orUpdate } from "./insert-rows.ts";
import type { Merged } from "./merge-advisory.ts";

const advisoryColumns: RowColumns<AdvisoryTable> = {
  uid: "text",
  parent: "text",
  name: "text",
  create_time: "text",
  update_time: "text",
  delete_time: "text",
  about: "text",
  advisory_id: "text",
  legacy_advisory_id: "text",
  artifact_name: "text",
  artifact_type: "text",
  artifact_architecture: "text",
  component_name: "text",
  component_type: "text",
  component_location: "text",
  first_alias: "text",
  latest_type: "bigint",
  event_types: "bigint",
  review_states: "bigint",
  body: "text",
};

const eventColumns: RowColumns<AdvisoryEventTable> = {
  uid: "text",
  advisory_uid: "text",
  create_time: "text",
  type: "bigint",
  review_state: "bigint",
  author: "text",
  reviewer: "text",
  body: "text",
};

/** What a merge changes. */
const CHANGING = ["update_time", "delete_time", "first_alias", "latest_type", "event_types", "review_states", "body"];

/** @param rows of the advisories, in the same order */
export async function insertAdvisoryRows(db: WriteDb, rows: readonly AdvisoryTable[], merged: readonly Merged[]): Promise<void> {
  await insertRows(db, "advisory", rows, advisoryColumns, orUpdate("uid", CHANGING));
  const events = merged.flatMap(({ newEvents }) => newEvents.map(eventRow));
  await insertRows(db, "advisory_event", events, eventColumns);
  const aliases = merged.flatMap(({ advisory: { id }, newAliases }) =>
    [...new Set(newAliases)].map((alias) => ({ alias, advisory_uid: id })),
  );
  await insertRows(db, "advisory_alias", aliases, { alias: "text", advisory_uid: "text" }, IF_NEW);
  const terms = merged.flatMap(({ advisory }) => termsOf(advisory).map((term) => ({ term, advisory_uid: advisory.id })));
  await insertGrams(db, [...new Set(terms.map(({ term }) => term))]);
  await insertRows(db, "advisory_term", terms, { term: "text", advisory_uid: "text" }, IF_NEW);
}

/** A term that some advisory has already has its parts. */
async function insertGrams(db: WriteDb, terms: readonly string[]): Promise<void> {
  const known = await db
    .selectFrom(db.dialect.valuesOf(terms).as("v"))
    .select("v.value")
    .where(({ exists, selectFrom }) => exists(selectFrom("advisory_term as t").select("t.term").whereRef("t.term", "=", "v.value")))
    .execute();
  const isKnown = new Set(known.map(({ value }) => value));
  const rows = terms.filter((term) => !isKnown.has(term)).flatMap((term) => gramsOf(term).map((gram) => ({ gram, term })));
  rows.sort((a, b) => (a.gram < b.gram ? -1 : a.gram > b.gram ? 1 : a.term < b.term ? -1 : 1));
  await insertRows(db, "advisory_gram", rows, { gram: "text", term: "text" }, IF_NEW);
}
