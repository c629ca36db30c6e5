/** What was in images: for each, the versions of every package and of every origin. Numbers stand for names and for lists of versions, as most are met again and again. */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { type Image, readImageSources } from "./image-sources.ts";
import { readAhead } from "./read-ahead.ts";

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
/** Packages of one query, about. */
const CHUNK_ROWS = 5_000;

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

/** Digest → numbers of its packages. */
async function readContents(
  digests: readonly string[],
  names: Interned<PackageName>,
  packages: Interned<Package>,
  db: ReadDb,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const contents = new Map<string, readonly number[]>();
  // Of an image's platforms most have the same packages.
  const known = new Map<string, readonly number[]>();
  let left = MAX_ROWS;
  for await (const [, rows] of readAhead(readChunks(digests, db), (chunk) => readTexts(chunk, left, db), db)) {
    for (const { digest, packages: text } of rows) {
      const lines = text?.split("\n") ?? [];
      left -= lines.length;
      if (left < 0) throw resourceExhausted(`these images have more than ${MAX_ROWS} packages: ask for fewer images or days`);
      const numbers = known.get(text ?? "") ?? lines.map((line) => packages.number(line, () => packageOf(line, names)));
      known.set(text ?? "", numbers);
      contents.set(digest, numbers);
    }
  }
  return contents;
}

/** Those whose packages are read at once: images have few packages, or very many. */
async function* readChunks(digests: readonly string[], db: ReadDb): AsyncIterable<readonly string[]> {
  for (let start = 0; start < digests.length; start += CHUNK) {
    const wanted = db.dialect.valuesOf(digests.slice(start, start + CHUNK));
    const { rows } = await sql<{ digest: string; package_count: number }>`
      select s.digest, s.package_count from ${wanted} as v join image_scan as s on s.digest = v.value`.execute(db);
    let chunk: string[] = [];
    let count = 0;
    for (const { digest, package_count } of rows) {
      chunk.push(digest);
      count += package_count;
      if (count < CHUNK_ROWS) continue;
      yield chunk;
      [chunk, count] = [[], 0];
    }
    yield chunk;
  }
}

/** Each package as a line of JSON: a text for each image takes a fraction of the time of a row for each of its packages. */
async function readTexts(digests: readonly string[], limit: number, db: ReadDb) {
  const { dialect } = db;
  const line = dialect.jsonOf([sql`p.type`, sql`p.name`, sql`p.origin`, sql`p.version`]);
  const { rows } = await sql<{ digest: string; packages: string | null }>`
    select v.value as digest, (select string_agg(l.line, ${"\n"}) from
      (select ${line} as line from image_package as p where p.digest = v.value limit ${limit + 1}) as l) as packages
    from ${dialect.valuesOf(digests)} as v`.execute(db);
  return rows;
}

function packageOf(line: string, names: Interned<PackageName>): Package {
  const [type, name, origin, version] = JSON.parse(line) as [string, string, string, string];
  const under = [...new Set([name, origin])].map((text) => names.number(`${type}\0${text}`, () => ({ type, name: text })));
  return { version, under };
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
