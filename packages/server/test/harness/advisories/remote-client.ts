/** Makes files of advisories and uploads them in parts, as a client does. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Import, Import_State, ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { advisoryFromRow } from "../../../src/advisories/storage/load.ts";
import { until } from "../wait.ts";
import type { World } from "../world.ts";

export const WRITER = [Capability.CAP_ADVISORIES_CREATE, Capability.CAP_ADVISORIES_UPDATE, Capability.CAP_ADVISORIES_LIST];
export const APPROVER = [...WRITER, Capability.CAP_ADVISORIES_APPROVE];
export const KIND = ImportKind.ADVISORIES;

/** One package with one vulnerability, as Wolfi YAML. */
export function advisoryYaml(name: string, id = "CGA-2222-3333-4444", fixed = "1.2.3-r0"): string {
  return `schema-version: 2.0.2
package:
  name: ${name}
advisories:
  - id: ${id}
    aliases:
      - CVE-2024-0001
    events:
      - timestamp: 2024-03-01T10:00:00Z
        type: fixed
        data:
          fixed-version: ${fixed}
`;
}

/** `count` packages with one vulnerability each. */
export function secdbOf(count: number, prefix = "package"): Buffer {
  const packages = Array.from({ length: count }, (_, i) => ({
    pkg: { name: `${prefix}-${i}`, secfixes: { "1.0-r1": ["CVE-2024-0002"] } },
  }));
  return Buffer.from(JSON.stringify({ reponame: "main", packages }));
}

export interface Sending {
  readonly token?: string;
  readonly kind?: ImportKind;
  readonly fileName?: string;
  readonly pieceSize?: number;
}

const methods = ImportsService.method;

/** Uploads a file. @returns uid of the import */
export async function send(world: World, parent: string, bytes: Buffer | string, options: Sending = {}): Promise<string> {
  const { token = world.owner.token, kind = KIND, fileName = "feed.json", pieceSize = 3_000_000 } = options;
  const { uid } = await world.must(methods.createImport, { parent, kind, fileName }, token);
  const all = Buffer.from(bytes as string);
  for (let offset = 0; offset < all.length; offset += pieceSize)
    await world.must(methods.writeImport, { uid, offset: BigInt(offset), data: all.subarray(offset, offset + pieceSize) }, token);
  return uid;
}

/** Uploads a file and starts its import. */
export async function begin(world: World, parent: string, bytes: Buffer | string, options: Sending = {}): Promise<string> {
  const uid = await send(world, parent, bytes, options);
  await world.must(methods.startImport, { uid }, options.token ?? world.owner.token);
  return uid;
}

/** Waits for the end of the import. */
export async function ended(world: World, uid: string): Promise<Import> {
  return found(world, uid, ({ state }) => state === Import_State.DONE || state === Import_State.FAILED);
}

export async function found(world: World, uid: string, isSo: (found: Import) => boolean): Promise<Import> {
  let last = await world.must(methods.getImport, { uid });
  await until(async () => {
    last = await world.must(methods.getImport, { uid });
    return isSo(last);
  });
  return last;
}

/** The artifacts of the group's advisories, and whether their events are approved (2) or pending (1). */
export async function advisoriesIn({ store }: World, parent: string) {
  const rows = await store.reader.selectFrom("advisory").selectAll().where("parent", "=", parent).orderBy("artifact_name").execute();
  return rows.map(advisoryFromRow).flatMap(({ artifactName: artifact_name, events }) => {
    return events.map(({ status: review_state, author }) => ({ artifact_name, review_state, author }));
  });
}

export async function countIn({ store }: World, parent: string): Promise<number> {
  const { n } = await store.reader
    .selectFrom("advisory")
    .select(({ fn }) => fn.countAll().as("n"))
    .where("parent", "=", parent)
    .executeTakeFirstOrThrow();
  return Number(n);
}

/** File names of the staged files. */
export function stagedFiles({ dataDir }: World): Promise<string[]> {
  return readdir(join(dataDir, "imports"));
}
