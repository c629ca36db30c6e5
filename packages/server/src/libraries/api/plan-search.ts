/**
 * Query planner of searches for libraries. Names are counted by their substrings in advance, so the total of a search for
 * up to three characters is known. The names with a longer text are found by its substring that the fewest names contain.
 */
import type { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { countAll } from "../../api/resource/count-rows.ts";
import type { Plan } from "../../api/resource/list.ts";
import type { Entries, Selection } from "../../api/resource/selection.ts";
import type { Condition } from "../../api/resource/visible.ts";
import type { Dialect } from "../../db/dialect.ts";
import type { ResourceCount } from "../../db/resource-count.ts";
import type { ReadDb } from "../../db/store.ts";
import { artifacts } from "../artifacts-resource.ts";
import { countNames } from "../name-counts.ts";
import { entriesNamed, isPart, ofEcosystems, patternOf, searchedPartsOf } from "../name-index.ts";

/** Names that are found by the index of names at most if other filters are tested on each. */
const FEW = 1_000;

export interface Search {
  /** Part of the names; the empty string for all. */
  readonly text: string;
  readonly ecosystems: readonly Ecosystem[];
  readonly remediated: boolean;
  /** The name contains the text. */
  readonly named: Condition | undefined;
  readonly cuda: (Condition & { readonly version: string }) | undefined;
  /** All other conditions. */
  readonly others: readonly Condition[];
  /** Names that are looked up one by one at most, other than by default; for tests. */
  readonly few?: number | undefined;
}

/** The substring of the text that the fewest names contain. */
interface Lead extends ResourceCount {
  readonly part: string;
}

export async function planSearch(search: Search, selection: Selection, db: ReadDb): Promise<Plan> {
  const { view, order } = selection;
  const { text, ecosystems, remediated, named, cuda, others, few = FEW } = search;
  // Names that contain the text may be far apart in the order of names, whose indexes hold the name and the ecosystem.
  const isCovered = order.column === "name" && !remediated && cuda === undefined;
  const withAll = (...conditions: (Condition | undefined)[]) => {
    const present = conditions.filter((condition) => condition !== undefined);
    return { ...view, conditions: [...view.conditions, ...present, ...others], isCovered };
  };
  const groups = view.counted?.groups;
  if (groups === undefined || view.counted === undefined) {
    const tested = withAll(named, cuda);
    return { view: tested, count: await countAll({ ...selection, view: tested }, db) };
  }
  const counts = await countNames(db, ["", ...searchedPartsOf(text)], { groups, ecosystems, remediated });
  const lead = leadOf(text, counts);
  if (lead.below === 0) return { view: withAll(named, cuda), count: { total: 0, rootRows: 0 } };
  if (cuda !== undefined) {
    const isFew = lead.below <= few;
    const found = isFew ? withAll(byName(search, lead, db.dialect), tested(cuda)) : withAll(byNameAndCuda(search, lead, db.dialect));
    return { view: found, count: undefined };
  }
  const found = withAll(remediated ? named : byName(search, lead, db.dialect));
  // The index of remediated libraries is in the order of names.
  const effort = remediated && order.column === "name" && ecosystems.length === 1 ? { effort: counts.get("")?.below ?? 0 } : {};
  if (isPart(text)) return { view: found, count: { total: view.counted.direct ? lead.direct : lead.below, rootRows: 0, ...effort } };
  if (!remediated && lead.below <= few) return { view: found, count: undefined };
  const entries = view.conditions.length === 0 ? entriesOf(search, lead, db.dialect) : undefined;
  return { view: found, count: { ...(await countAll({ ...selection, view: found, entries }, db)), ...effort } };
}

function leadOf(text: string, counts: ReadonlyMap<string, ResourceCount>): Lead {
  const leads = searchedPartsOf(text).map((part) => ({ part, ...(counts.get(part) ?? { below: 0, direct: 0 }) }));
  return leads.reduce((best, lead) => (lead.below < best.below ? lead : best));
}

function entriesOf({ text, ecosystems, remediated }: Search, { part }: Lead, dialect: Dialect): Entries {
  if (!remediated) return entriesNamed(text, part, ecosystems);
  const isNamed = dialect.isLike(sql`name`, patternOf(text));
  const where = sql<boolean>`${ofEcosystems(ecosystems)} and remediated = 1 and ${isNamed}`;
  return { table: artifacts.table, uid: dialect.unindexed("uid"), where };
}

/** The index of names finds the libraries. */
function byName({ text, ecosystems, named }: Search, { part }: Lead, dialect: Dialect): Condition | undefined {
  if (named === undefined) return undefined;
  const { table, uid, where } = entriesNamed(text, part, ecosystems);
  return { ...named, seek: dialect.isAmong(sql`uid`, sql`select ${uid} from ${sql.table(table)} where ${where}`) };
}

/** Each library for the version of CUDA is looked up in the index of names. */
function byNameAndCuda({ text, ecosystems, named, cuda }: Search, { part }: Lead, dialect: Dialect): Condition | undefined {
  if (named === undefined || cuda === undefined) return undefined;
  const built = sql`(select distinct v.artifact_uid as uid from library_version as v where v.cuda_version = ${cuda.version}) as built`;
  const { table, where } = entriesNamed(text, part, ecosystems);
  const entry = sql<boolean>`${where} and artifact_uid = built.uid`;
  const test: RawBuilder<boolean> = sql`(${named.test} and ${cuda.test})`;
  return { test, seek: dialect.isAmong(sql`uid`, dialect.lookUp(sql`artifact_uid`, built, sql.table(table), entry)) };
}

function tested({ test }: Condition): Condition {
  return { seek: test, test };
}
