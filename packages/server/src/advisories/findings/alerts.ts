/** Emits an event when an image gains critical findings, and remembers of which ones subscribers know. */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { HoltError } from "../../lib/errors.ts";
import { parentOf, rangeAtOrBelow } from "../../lib/uid.ts";
import { appendPlainEvents, type EventNames, type PlainEvent } from "../../outbox/outbox.ts";
import { SEVERITY } from "./finding.ts";
import { type ImageFinding, readImageFindings } from "./image-findings.ts";
import type { MatchContext } from "./match-context.ts";
import { namesOfRepo } from "./repo-names.ts";
import { type Batch, removeRequests } from "./requests.ts";
import { applyStatements } from "./statements.ts";

export const CRITICAL_EVENT = "registry.vulnerabilities.critical.v1";
/** Repos of an organization that have the same image. */
const MAX_REPOS = 500;
/** Vulnerabilities that an event describes. */
const MAX_DESCRIBED = 100;
const MAX_TAGS = 100;

/** The critical findings of an image in a repo. */
interface Look {
  readonly imageId: number;
  readonly digest: string;
  readonly repoUid: string;
  readonly repository: string;
  /** Digest of the image, if the manifest is an SBOM of it. */
  readonly imageDigest: string;
  readonly tags: readonly string[];
  /** By vulnerability. */
  readonly critical: ReadonlyMap<string, readonly ImageFinding[]>;
}

export async function alertImages(batch: Batch, context: MatchContext, names: EventNames): Promise<void> {
  const { reader } = context.store;
  for (const request of batch.requests) {
    const looks = await lookAt(reader, batch.orgUid, request.name);
    await context.write(async (db) => {
      if ((await removeRequests(db, { ...batch, requests: [request] })).size === 0) return;
      const events: PlainEvent[] = [];
      for (const look of looks) {
        const added = await recordCritical(db, look);
        if (added.length > 0 && batch.kind === "alert") events.push(eventOf(look, added, { names, now: context.now() }));
      }
      await appendPlainEvents(db, events, names);
    });
  }
}

async function lookAt(db: ReadDb, orgUid: string, digest: string): Promise<Look[]> {
  const image = await db
    .selectFrom("matched_image")
    .select("id")
    .where("digest", "=", digest)
    .where("org_uid", "=", orgUid)
    .executeTakeFirst();
  if (image === undefined) return [];
  const { lower, upper } = rangeAtOrBelow(orgUid);
  const repos = await db
    .selectFrom("manifest")
    .select(["repo_uid", "subject"])
    .where("digest", "=", digest)
    .where("repo_uid", ">=", lower)
    .where("repo_uid", "<", upper)
    .orderBy("repo_uid")
    .limit(MAX_REPOS)
    .execute();
  const findings = await emptyAboveLimits(readImageFindings(db, { orgUid, digests: [digest], minSeverity: SEVERITY.critical }));
  const looks: Look[] = [];
  for (const { repo_uid: repoUid, subject } of repos) {
    const repoNames = await namesOfRepo(db, repoUid);
    const stated = await emptyAboveLimits(applyStatements(db, findings, { orgUid, names: repoNames }));
    const open = stated.filter(({ detail }) => detail.suppression === undefined);
    const imageDigest = subject ?? digest;
    const tags = open.length === 0 ? [] : await tagsOf(db, repoUid, imageDigest);
    const critical = Map.groupBy(open, ({ vulnerability }) => vulnerability);
    looks.push({ imageId: image.id, digest, repoUid, repository: repoNames.at(-1) ?? "", imageDigest, tags, critical });
  }
  return looks;
}

/** Empty for an image with so many that it has no report either: an event would say nothing that helps. */
async function emptyAboveLimits(reading: Promise<ImageFinding[]>): Promise<readonly ImageFinding[]> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof HoltError) return [];
    throw error;
  }
}

/** The tags of the image, and of the indexes that contain it. */
async function tagsOf(db: ReadDb, repoUid: string, digest: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select t.name from tag as t where t.parent = ${repoUid}
    and t.digest in (select ${digest} union select p.digest from index_platform as p where p.manifest_digest = ${digest})
    order by t.name limit ${MAX_TAGS}`.execute(db);
  return rows.map(({ name }) => name);
}

/** @returns the vulnerabilities that the image gained */
async function recordCritical(db: WriteDb, { imageId, repoUid, critical }: Look): Promise<string[]> {
  const rows = db.selectFrom("critical_notice").select("vulnerability").where("image_id", "=", imageId).where("repo_uid", "=", repoUid);
  const known = new Set((await rows.execute()).map(({ vulnerability }) => vulnerability));
  const added = [...critical.keys()].filter((id) => !known.has(id)).sort();
  const gone = [...known].filter((id) => !critical.has(id));
  if (gone.length > 0)
    await db
      .deleteFrom("critical_notice")
      .where("image_id", "=", imageId)
      .where("repo_uid", "=", repoUid)
      .where("vulnerability", "in", db.selectFrom(db.dialect.valuesOf(gone).as("v")).select("v.value"))
      .execute();
  await sql`insert into critical_notice (image_id, repo_uid, vulnerability) select ${imageId}, ${repoUid}, v.value
    from ${db.dialect.valuesOf(added)} as v where 1 = 1 on conflict do nothing`.execute(db);
  return added;
}

function eventOf(look: Look, added: readonly string[], { names, now }: { readonly names: EventNames; readonly now: Date }): PlainEvent {
  const { repoUid, repository, imageDigest, tags, critical } = look;
  const vulnerabilities = added.slice(0, MAX_DESCRIBED).map((id) => {
    const findings = critical.get(id) ?? [];
    return {
      id,
      packages: [...new Set(findings.map(({ type, name, version }) => `${type}:${name}@${version}`))],
      fixed_versions: [...new Set(findings.flatMap(({ detail }) => detail.fixed))],
    };
  });
  const body = { repository, repo_id: repoUid, digest: imageDigest, tags, vulnerability_count: added.length, vulnerabilities };
  const source = `${names.baseUrl}/holt/v1/vulnerabilities`;
  return { type: CRITICAL_EVENT, source, subject: repoUid, group: parentOf(repoUid), extensions: {}, actor: undefined, body, now };
}
