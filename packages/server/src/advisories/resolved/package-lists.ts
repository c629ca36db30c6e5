/** What was in images: for each, the versions of every package and of every origin. Numbers stand for names and for lists of versions, as most are met again and again. */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { type Image, readImageSources } from "./image-sources.ts";

/** Of one image, all that is said of it together: number of a name → number of its list of versions. */
export type PackageList = ReadonlyMap<number, number>;

/** Type and name of a package, or of what packages are built from. */
export interface PackageName {
  readonly type: string;
  readonly name: string;
}

export interface PackageLists {
  /** In the order of the images. Empty where nothing is known of one. */
  readonly lists: readonly PackageList[];
  readonly names: readonly PackageName[];
  readonly versions: readonly (readonly string[])[];
}

const MAX_ROWS = 500_000;
/** Digests of one query, or images between which others have their turn. */
const CHUNK = 100;

export async function readPackageLists(images: readonly Image[], db: ReadDb): Promise<PackageLists> {
  const sources = await readImageSources(images, db);
  const names = new Interned<PackageName>();
  const versions = new Interned<readonly string[]>();
  const packages = new Interned<Package>();
  const contents = await readContents([...new Set(sources.flat())], names, packages, db);
  const lists: PackageList[] = [];
  for (const digests of sources) {
    const found = new Map<number, Set<string>>();
    for (const number of new Set(digests.flatMap((digest) => contents.get(digest) ?? []))) {
      const { version, under } = packages.values[number] as Package;
      for (const name of under) {
        const ofName = found.get(name);
        if (ofName === undefined) found.set(name, new Set([version]));
        else ofName.add(version);
      }
    }
    lists.push(new Map([...found].map(([name, all]) => [name, numberOf(all, versions)])));
    if (lists.length % CHUNK === 0) await setImmediate();
  }
  return { lists, names: names.values, versions: versions.values };
}

function numberOf(all: ReadonlySet<string>, versions: Interned<readonly string[]>): number {
  const sorted = [...all].sort();
  return versions.number(sorted.join("\0"), () => sorted);
}

interface Package {
  readonly version: string;
  /** Numbers of its name and its origin. */
  readonly under: readonly number[];
}

interface PackageRow extends PackageName {
  readonly index: number;
  readonly version: string;
  readonly origin: string;
}

/** Digest → numbers of its packages. */
async function readContents(
  digests: readonly string[],
  names: Interned<PackageName>,
  packages: Interned<Package>,
  db: ReadDb,
): Promise<ReadonlyMap<string, number[]>> {
  const contents = digests.map((): number[] => []);
  let left = MAX_ROWS;
  for (let start = 0; start < digests.length; start += CHUNK) {
    const wanted = digests.slice(start, start + CHUNK).map((digest, index) => ({ index: start + index, digest }));
    const { rows } = await sql<PackageRow>`
      select w."index", p.type, p.name, p.version, p.origin from ${db.dialect.rowsOf(wanted, { index: "bigint", digest: "text" })} as w
      join image_package as p on p.digest = w.digest limit ${left + 1}`.execute(db);
    left -= rows.length;
    if (left < 0) throw resourceExhausted(`these images have more than ${MAX_ROWS} packages: ask for fewer images or days`);
    for (const { index, type, name, version, origin } of rows) {
      const number = packages.number(`${type}\0${name}\0${origin}\0${version}`, () => ({
        version,
        under: [...new Set([name, origin])].map((text) => names.number(`${type}\0${text}`, () => ({ type, name: text }))),
      }));
      contents[Number(index)]?.push(number);
    }
    // SQLite answers at once: without this nobody else would be answered between chunks.
    await setImmediate();
  }
  return new Map(digests.map((digest, index) => [digest, contents[index] ?? []]));
}

/** Gives values numbers, in the order in which they are met. */
class Interned<T> {
  readonly values: T[] = [];
  readonly #numbers = new Map<string, number>();

  number(key: string, make: () => T): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.#numbers.set(key, this.values.length);
    return this.values.push(value) - 1;
  }
}
