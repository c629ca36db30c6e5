/** An organization with a repo whose images are compared with advisories, as the tests of open vulnerabilities need it. */
import {
  type ImageVulnerability,
  type ListImageVulnerabilitiesResponse,
  PackageVulnerability_State as State,
  VulnerabilitiesService,
  VulnerabilitySeverity,
} from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import { eventsAfter } from "../outbox.ts";
import { APK, apkDatabase, layerOf, osRelease } from "../registry/image-content.ts";
import { createImageRepo, type ImageRepo } from "../registry/image-world.ts";
import { until } from "../wait.ts";
import type { World } from "../world.ts";
import { importJson } from "./import-world.ts";

export interface FindingsWorld extends Disposable {
  readonly org: string;
  readonly repo: ImageRepo;
  /** Pushes an image with these apk packages, each `name version` or `name version origin`. @returns its digest */
  push(packages: readonly string[], architecture?: string): Promise<string>;
  /** Imports records, each a document of a known format. */
  importAdvisories(documents: readonly object[], group?: string): Promise<void>;
  /** Imports the CVSS 3 vectors of vulnerabilities, by id. */
  score(vectors: Readonly<Record<string, string>>): Promise<void>;
  list(digest: string, filters?: object): Promise<ListImageVulnerabilitiesResponse>;
  /** Waits until nothing waits to be compared. */
  settle(): Promise<void>;
  /** Each finding of the settled image as `id package version severity state`. */
  found(digest: string): Promise<string[]>;
}

export const CRITICAL = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
export const HIGH = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N";
export const LOW = "CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N";

let count = 0;

export async function createFindingsWorld(world: World): Promise<FindingsWorld> {
  const org = await world.group("", `findings-${count++}`);
  const repo = await createImageRepo(world, world.owner.token, org);
  const list = (digest: string, filters: object = {}) =>
    world.must(VulnerabilitiesService.method.listImageVulnerabilities, { uid: repo.uid, digest, ...filters });
  const settle = () =>
    until(async () => {
      // In this order: what leaves the first table enters the second in the same transaction.
      const scans = await world.store.reader.selectFrom("image_wait").select("digest").where("org_uid", "=", org).execute();
      const waiting = await world.store.reader.selectFrom("match_request").select("name").where("org_uid", "=", org).execute();
      return waiting.length + scans.length === 0;
    });
  const send = async (parent: string, kind: "advisories" | "vulnerabilities", documents: readonly object[]) => {
    const { problems } = await importJson(world, documents, { parent, kind, approves: true, mayDelete: true });
    if (problems.length > 0) throw new Error(`the import has problems: ${JSON.stringify(problems)}`);
  };
  return {
    org,
    repo,
    list,
    settle,
    async push(packages, architecture = "amd64") {
      const layer = await layerOf({ [APK]: apkDatabase(...packages), "etc/os-release": osRelease("wolfi", "20230201") });
      return (await repo.push([layer], { architecture })).digest;
    },
    importAdvisories: (documents, group = org) => send(group, "advisories", documents),
    score: (vectors) =>
      send(
        org,
        "vulnerabilities",
        Object.entries(vectors).map(([id, score]) => ({
          id,
          modified: "2024-01-01T00:00:00Z",
          published: "2024-01-01T00:00:00Z",
          summary: `about ${id}`,
          severity: [{ type: "CVSS_V3", score }],
          references: [{ type: "WEB", url: `https://example.com/${id}` }],
        })),
      ),
    async found(digest) {
      await settle();
      return (await list(digest, { pageSize: 200 })).vulnerabilities.map(describeFinding);
    },
    [Symbol.dispose]: () => repo[Symbol.dispose](),
  };
}

function describeFinding({ vulnerability }: ImageVulnerability): string {
  const { vulnerabilityId, packageName, packageVersion, severity, state } = vulnerability ?? {};
  return [vulnerabilityId, packageName, packageVersion, nameOf(VulnerabilitySeverity, severity), nameOf(State, state)].join(" ");
}

function nameOf(values: Readonly<Record<string, number>>, value: number | undefined): string {
  return Object.entries(values).find(([, number]) => number === value)?.[0] ?? "";
}

interface OsvPackage {
  readonly ecosystem: string;
  readonly name: string;
  readonly events: readonly object[];
  readonly type?: string;
  readonly versions?: readonly string[];
}

export function osv(id: string, affected: readonly OsvPackage[], rest: object = {}): object {
  return {
    id,
    modified: "2024-02-01T00:00:00Z",
    published: "2024-01-01T00:00:00Z",
    schema_version: "1.6.0",
    affected: affected.map(({ ecosystem, name, events, type = "ECOSYSTEM", versions }) => ({
      package: { ecosystem, name },
      ...(events.length > 0 && { ranges: [{ type, events }] }),
      ...(versions && { versions }),
    })),
    ...rest,
  };
}

/** Versions before the fixed one, as an OSV range. */
export function rangeBefore(fixed: string) {
  return [{ introduced: "0" }, { fixed }];
}

/** An OSV record about a package of Wolfi. */
export function wolfi(id: string, name: string, fixed: string, rest: object = {}) {
  return osv(id, [{ ecosystem: "Wolfi", name, events: rangeBefore(fixed) }], rest);
}

/** The bodies of events after the position that announce critical findings in the world's repo. */
export async function criticalEvents(world: World, { repo }: FindingsWorld, after: number): Promise<Record<string, unknown>[]> {
  return (await eventsAfter(world, after))
    .filter(({ type, subject }) => type.endsWith(".registry.vulnerabilities.critical.v1") && subject === repo.uid)
    .map(({ data }) => (JSON.parse(data) as { body: Record<string, unknown> }).body);
}
