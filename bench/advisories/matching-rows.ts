/** Fills images that share bases, and advisories about their packages, without comparing them. */
import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { repos } from "../../packages/server/src/registry/resources.ts";
import { insertAll, type Sink } from "../data/fill.ts";
import { type Row, rowOf, timesOf } from "../data/rows.ts";

const BASES = 200;
const PACKAGES_PER_BASE = 90;
/** Packages that an image has in addition to those of its base. */
const OWN_PACKAGES = 10;
/** Names that advisories are about. */
export const NAMES = 20_000;
/** Names that images take their packages from. */
const COMMON_NAMES = 2000;
const REVISIONS = 10;
/** The oldest revision in images. Most fixes are older, so that one tenth of the advisories about a package is open. */
const OLDEST_REVISION = 5;
const CRITICAL_FRACTION = 0.02;
const TIME = new Date("2026-01-01T00:00:00.000Z");
const CRITICAL = '[{"type":"TYPE_CVSS_V3","score":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}]';
const MEDIUM = '[{"type":"TYPE_CVSS_V3","score":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:L/I:N/A:N"}]';
/** A package in all images. */
export const EVERYWHERE = "everywhere";

const random = (n: number) => Math.floor(n * Math.random());

export function digestOf(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** @returns the uid of the repo of the images */
export async function fillImages(sink: Sink, organization: string, images: number): Promise<string> {
  const repo = newUid(organization);
  await insertAll(sink, "repo", [rowOf(repos, create(RepoSchema, { uid: repo, name: "app", ...timesOf(TIME) }), TIME)]);
  const bases = Array.from({ length: BASES }, () => randomPackages(PACKAGES_PER_BASE - 1));
  for (let number = 0; number < images; number++) {
    const packages = new Map([...randomPackages(OWN_PACKAGES), ...(bases[number % BASES] ?? []), [EVERYWHERE, 1]]);
    await insertAll(sink, "image_scan", [scanRow(digestOf(`image ${number}`), packages.size)]);
    await insertAll(sink, "image_package", packageRows(digestOf(`image ${number}`), packages));
    await insertAll(sink, "manifest", [manifestRow(repo, digestOf(`image ${number}`))]);
  }
  return repo;
}

function randomPackages(count: number): Map<string, number> {
  return new Map(Array.from({ length: count }, () => [`package-${random(COMMON_NAMES)}`, OLDEST_REVISION + random(REVISIONS)]));
}

export function scanRow(digest: string, packages: number): Row {
  return { digest, state: "done", attempts: 0, distribution: "wolfi", error: "", package_count: packages };
}

/** @param packages names with revisions */
export function packageRows(digest: string, packages: Iterable<readonly [name: string, revision: number]>): Row[] {
  const from = { location: "lib/apk/db/installed", source: "image", purl: "" };
  return Array.from(packages, ([name, revision]) => {
    const version = `1.2.3-r${revision}`;
    return { digest, type: "apk", name, version, architecture: "x86_64", origin: name, ...from };
  });
}

export function manifestRow(repo_uid: string, digest: string): Row {
  const times = { create_time: TIME.toISOString(), touch_time: TIME.toISOString() };
  const described = { media_type: "", artifact_type: null, subject: null, size: 0 };
  return { repo_uid, digest, ...described, ...times, annotations: null, content: Buffer.from("{}") };
}

export async function fillAdvisories(sink: Sink, organization: string, advisories: number): Promise<void> {
  for (let done = 0; done < advisories; done += 10_000) {
    const numbers = Array.from({ length: Math.min(10_000, advisories - done) }, (_, i) => done + i);
    const rows = numbers.map((number) => advisoryRow(organization, number, `package-${random(NAMES)}`));
    await insertAll(sink, "advisory", rows);
    await insertAll(sink, "advisory_term", rows.map(termRow));
    await insertAll(
      sink,
      "vulnerability",
      numbers.map((number) => vulnerabilityRow(number, Math.random() < CRITICAL_FRACTION)),
    );
  }
}

export function termRow({ artifact_name, uid }: Row): Row {
  return { term: artifact_name ?? "", advisory_uid: uid ?? "" };
}

export function vulnerabilityRow(number: number, isCritical: boolean): Row {
  return { id: `CVE-2026-${number}`, update_time: "", modified_time: "", severities: isCritical ? CRITICAL : MEDIUM, body: "{}" };
}

export function advisoryRow(parent: string, number: number, name: string, revision = random(REVISIONS)): Row {
  const time = TIME.toISOString();
  const uid = newUid(parent);
  const advisoryId = `CVE-2026-${number}`;
  const component = { componentName: "", componentType: "", componentLocation: "" };
  const artifact = { artifactName: name, artifactType: "apk", artifactArchitecture: "", ...component };
  const fixed = { fixedVersion: `1.2.3-r${revision}` };
  const event = { uid: newUid(uid), createTime: time, reviewState: "REVIEW_STATE_APPROVED", fixed };
  const body = { uid, advisoryId, createTime: time, updateTime: time, ...artifact, aliases: [], events: [event], severities: [] };
  return {
    ...{ uid, parent, name: "", create_time: time, update_time: time, delete_time: null },
    ...{ about: `${advisoryId} ${name}`, advisory_id: advisoryId, legacy_advisory_id: null },
    ...{ artifact_name: name, artifact_type: "apk", artifact_architecture: "" },
    ...{ component_name: "", component_type: "", component_location: "", first_alias: "" },
    ...{ latest_type: 3, event_types: 8, review_states: 4, authors: "", reviewers: "", resolutions: "", other_events: "" },
    body: JSON.stringify(body),
  };
}
