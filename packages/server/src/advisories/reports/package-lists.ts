/**
 * Reads the packages of images: for each image, the versions of every package and origin. Names and version lists are
 * interned as numbers, since most occur many times.
 */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { type Image, readImageSources } from "./image-sources.ts";
import { readAhead } from "./read-ahead.ts";

/** The packages of one image from all its sources: number of a name → number of its version list. */
export type PackageList = ReadonlyMap<number, number>;

/** Type and name of a package or of an origin package. */
export interface PackageName {
  readonly type: string;
  readonly name: string;
}

export interface PackageLists {
  /** In the order of the images. Empty for an image whose packages are unknown. */
  readonly lists: readonly PackageList[];
  readonly names: readonly PackageName[];
  readonly versions: readonly (readonly string[])[];
}

const MAX_ROWS = 500_000;
/** Digests per query; also the number of images after which to yield to other requests. */
const DIGESTS_PER_QUERY = 100;
/** Approximate number of packages per query. */
const PACKAGES_PER_QUERY = 5_000;

export async function readPackageLists(images: readonly Image[], db: ReadDb): Promise<PackageLists> {
  const sources = await readImageSources(images, db);
  const names = new Interner<PackageName>();
  const versions = new Interner<readonly string[]>();
  const packages = new Interner<InternedPackage>();
  const contents = await readContents([...new Set(sources.flat())], names, packages, db);
  const lists: PackageList[] = [];
  for (const digests of sources) {
    const found = new Map<number, Set<string>>();
    for (const number of new Set(digests.flatMap((digest) => contents.get(digest) ?? []))) {
      const { version, nameNumbers } = packages.values[number] as InternedPackage;
      for (const name of nameNumbers) {
        const ofName = found.get(name);
        if (ofName === undefined) found.set(name, new Set([version]));
        else ofName.add(version);
      }
    }
    lists.push(new Map([...found].map(([name, all]) => [name, internVersions(all, versions)])));
    if (lists.length % DIGESTS_PER_QUERY === 0) await setImmediate();
  }
  return { lists, names: names.values, versions: versions.values };
}

function internVersions(all: ReadonlySet<string>, versions: Interner<readonly string[]>): number {
  const sorted = [...all].sort();
  return versions.intern(sorted.join("\0"), () => sorted);
}

interface InternedPackage {
  readonly version: string;
  /** Numbers of its name and of its origin. */
  readonly nameNumbers: readonly number[];
}

/** Digest → numbers of its packages. */
async function readContents(
  digests: readonly string[],
  names: Interner<PackageName>,
  packages: Interner<InternedPackage>,
  db: ReadDb,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const contents = new Map<string, readonly number[]>();
  // Most platforms of an image have the same packages.
  const known = new Map<string, readonly number[]>();
  let left = MAX_ROWS;
  for await (const [, rows] of readAhead(readChunks(digests, db), (chunk) => readPackageLines(chunk, left, db), db)) {
    for (const { digest, packages: text } of rows) {
      const lines = text?.split("\n") ?? [];
      left -= lines.length;
      if (left < 0) throw resourceExhausted(`these images have more than ${MAX_ROWS} packages; request fewer images or days`);
      const numbers = known.get(text ?? "") ?? lines.map((line) => packages.intern(line, () => internPackage(line, names)));
      known.set(text ?? "", numbers);
      contents.set(digest, numbers);
    }
  }
  return contents;
}

/** Groups digests by the number of their packages, as images have few packages or very many. */
async function* readChunks(digests: readonly string[], db: ReadDb): AsyncIterable<readonly string[]> {
  for (let start = 0; start < digests.length; start += DIGESTS_PER_QUERY) {
    const wanted = db.dialect.valuesOf(digests.slice(start, start + DIGESTS_PER_QUERY));
    const { rows } = await sql<{ digest: string; package_count: number }>`
      select s.digest, s.package_count from ${wanted} as v join image_scan as s on s.digest = v.value`.execute(db);
    let chunk: string[] = [];
    let count = 0;
    for (const { digest, package_count } of rows) {
      chunk.push(digest);
      count += package_count;
      if (count < PACKAGES_PER_QUERY) continue;
      yield chunk;
      chunk = [];
      count = 0;
    }
    yield chunk;
  }
}

/** The packages of each digest as JSON lines in one string, which is several times as fast as one row per package. */
async function readPackageLines(digests: readonly string[], limit: number, db: ReadDb) {
  const { dialect } = db;
  const line = dialect.jsonOf([sql`p.type`, sql`p.name`, sql`p.origin`, sql`p.version`]);
  const { rows } = await sql<{ digest: string; packages: string | null }>`
    select v.value as digest, (select string_agg(l.line, ${"\n"}) from
      (select ${line} as line from image_package as p where p.digest = v.value limit ${limit + 1}) as l) as packages
    from ${dialect.valuesOf(digests)} as v`.execute(db);
  return rows;
}

function internPackage(line: string, names: Interner<PackageName>): InternedPackage {
  const [type, name, origin, version] = JSON.parse(line) as [string, string, string, string];
  const nameNumbers = [...new Set([name, origin])].map((text) => names.intern(`${type}\0${text}`, () => ({ type, name: text })));
  return { version, nameNumbers };
}

/** Numbers values in the order of their first occurrence. */
class Interner<T> {
  readonly values: T[] = [];
  readonly #numbers = new Map<string, number>();

  intern(key: string, make: () => T): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.#numbers.set(key, this.values.length);
    return this.values.push(value) - 1;
  }
}
