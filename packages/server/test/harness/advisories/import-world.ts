/** Imports files into a server's database as another process would, and reads the result over the API. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AdvisoriesService, type Advisory } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { importRecords } from "../../../src/advisories/import/import.ts";
import type { ImportOptions, ImportProblem, ImportResult } from "../../../src/advisories/import/import-options.ts";
import { createRecordReader } from "../../../src/advisories/import/record-reader.ts";
import type { World } from "../world.ts";

export interface Imported extends Omit<ImportResult, "problems"> {
  readonly problems: readonly ImportProblem[];
}

type Options = Partial<Pick<ImportOptions, "kind" | "parent" | "approves" | "mayDelete" | "clock" | "path" | "reader" | "signal">>;

/** Shared by all imports of a test file, so that its thread starts once. */
export const reader = createRecordReader();

/** Imports a file with this content, by default into the organization. Problems name the file without its folder. */
export async function importFile(world: World, name: string, content: string | Buffer, options: Options = {}): Promise<Imported> {
  const folder = await mkdtemp(join(tmpdir(), "holt-import-"));
  try {
    const path = join(folder, name);
    await writeFile(path, content);
    const imported = await importFrom(world, { ...options, path });
    return { ...imported, problems: imported.problems.map((problem) => ({ ...problem, file: problem.file.replace(`${folder}/`, "") })) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

export function importJson(world: World, document: unknown, options: Options = {}): Promise<Imported> {
  return importFile(world, "document.json", JSON.stringify(document, null, 1), options);
}

export async function importFrom(world: World, options: Options & Pick<ImportOptions, "path">): Promise<Imported> {
  const problems: ImportProblem[] = [];
  const { store, clock, orgUid } = world;
  const result = await importRecords({
    ...{
      store,
      reader,
      clock,
      kind: "advisories",
      parent: options.kind === "vulnerabilities" ? "" : orgUid,
      approves: true,
      actor: "importer",
    },
    mayDelete: true,
    ...options,
    onProblem: (problem) => void problems.push(problem),
  });
  if (result.problems !== problems.length) throw new Error(`${result.problems} problems are counted and ${problems.length} were told`);
  return { ...result, problems };
}

/** All advisories of a group, with the total of the API. */
export async function advisoriesOf(
  world: World,
  parent: string,
): Promise<{ readonly advisories: readonly Advisory[]; readonly total: number }> {
  const { advisories, totalCount } = await world.must(AdvisoriesService.method.listAdvisories, {
    uidp: { childrenOf: parent },
    pageSize: 200,
  });
  return { advisories, total: Number(totalCount) };
}

/** A summary of an advisory: its identity, and type, version or note, and time of each event. */
export function summaryOf({ advisoryId, artifactType, artifactName, aliases, events }: Advisory) {
  return {
    about: `${advisoryId} ${artifactType}/${artifactName}`,
    aliases,
    events: events.map(({ type, createTime }) => {
      const value = (type.value ?? {}) as { fixedVersion?: string; note?: string; type?: unknown };
      const kind = typeof value.type === "number" ? `${type.case}:${value.type}` : type.case;
      const time = new Date(Number(createTime?.seconds ?? 0n) * 1000).toISOString();
      return [kind, value.fixedVersion ?? "", value.note ?? "", time];
    }),
  };
}
