/** Counts what browsers load for each screen, from the manifest of the build. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";

const dist = join(import.meta.dirname, "../dist");

interface Chunk {
  readonly file: string;
  readonly css?: readonly string[];
  readonly imports?: readonly string[];
}

type Manifest = Readonly<Record<string, Chunk>>;

export interface CompressedSizes {
  /** Bytes of scripts and styles that the first visit of Home loads. */
  readonly home: number;
  /** Bytes that each other screen adds, by its source. */
  readonly others: ReadonlyMap<string, number>;
}

export async function compressedSizes(): Promise<CompressedSizes> {
  const manifest = JSON.parse(await readFile(join(dist, "manifest.json"), "utf8")) as Manifest;
  const first = filesOf(["index.html", "src/frame/layout.tsx", "src/home/home.tsx"], manifest);
  const screens = Object.keys(manifest).filter((source) => /^src\/(?!app|frame\/(?!command-palette)|home\/home|session)/.test(source));
  const others = await Promise.all(
    screens.map(async (screen) => [screen, await sizeOf(added(filesOf([screen], manifest), first))] as const),
  );
  return { home: await sizeOf(first), others: new Map(others) };
}

/** The files of the chunks and of everything that they import. */
function filesOf(sources: readonly string[], manifest: Manifest, found = new Set<string>()): Set<string> {
  for (const source of sources) {
    const chunk = manifest[source];
    if (chunk === undefined) throw new Error(`the build has no ${source}`);
    if (found.has(chunk.file)) continue;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) found.add(file);
    filesOf(chunk.imports ?? [], manifest, found);
  }
  return found;
}

function added(files: ReadonlySet<string>, before: ReadonlySet<string>): Set<string> {
  return new Set([...files].filter((file) => !before.has(file)));
}

/** gzip, which all browsers get. */
async function sizeOf(files: ReadonlySet<string>): Promise<number> {
  const sizes = await Promise.all([...files].map(async (file) => (await stat(join(dist, `${file}.gz`))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
