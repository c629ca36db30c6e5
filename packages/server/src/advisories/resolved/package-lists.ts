/** What was in images: for each, the versions of every package and of every origin. Numbers stand for names and for lists of versions, as most are met again and again. */
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
/** Digests of one query. */
const CHUNK = 100;

export async function readPackageLists(images: readonly Image[], db: ReadDb): Promise<PackageLists> {
  const sources = await readImageSources(images, db);
  const names = new Interned<PackageName>();
  const versions = new Interned<readonly string[]>();
  const packages = new Interned<Package>();
  const contents = await readContents([...new Set(sources.flat())], names, packages, db);
  const lists = sources.map((digests) => {
    const found = new Map<number, Set<string>>();
    for (const digest of digests) {
      for (const number of contents.get(digest) ?? []) {
        const { version, under } = packages.values[number] as Package;
        for (const name of under) found.set(name, (found.get(name) ?? new Set()).add(version));
      }
    }
    const list = new Map<number, number>();
    for (const [name, set] of found) {
      const sorted = [...set].sort();
      list.set(
        name,
        versions.number(sorted.join("\0"), () => sorted),
      );
    }
    return list;
  });
  return { lists, names: names.values, versions: versions.values };
}

interface Package {
  readonly version: string;
  /** Numbers of its name and its origin. */
  readonly under: readonly number[];
}

interface PackageRow extends PackageName {
  readonly digest: string;
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
  const contents = new Map<string, number[]>();
  let left = MAX_ROWS;
  for (let start = 0; start < digests.length; start += CHUNK) {
    const { rows } = await sql<PackageRow>`
      select p.digest, p.type, p.name, p.version, p.origin from ${db.dialect.valuesOf(digests.slice(start, start + CHUNK))} as v
      join image_package as p on p.digest = v.value limit ${left + 1}`.execute(db);
    left -= rows.length;
    if (left < 0) throw resourceExhausted(`these images have more than ${MAX_ROWS} packages: ask for fewer images or days`);
    for (const { digest, type, name, version, origin } of rows) {
      const number = packages.number(`${type}\0${name}\0${origin}\0${version}`, () => ({
        version,
        under: [...new Set([name, origin])].map((text) => names.number(`${type}\0${text}`, () => ({ type, name: text }))),
      }));
      const content = contents.get(digest);
      if (content === undefined) contents.set(digest, [number]);
      else content.push(number);
    }
  }
  return contents;
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
