/** Lists the manifests whose subject is a digest (OCI distribution specification 1.1, "Listing Referrers"). */
import { cutPage } from "../../api/resource/page-bytes.ts";
import type { ReadDb } from "../../db/store.ts";

export interface Referrers {
  /** The JSON of each. Annotations are copied as they are stored: parsing those of a whole page would take long. */
  readonly descriptors: readonly string[];
  /** The `after` of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

const MAX_REFERRERS_PER_PAGE = 500;
/** Clients choose the annotations, which may be large. A page must not be larger than a manifest may be. */
const MAX_ANNOTATION_BYTES = 3 * 1024 * 1024;

interface ReferrerQuery {
  readonly artifactType: string | undefined;
  readonly after: string | undefined;
}

export async function findReferrers(db: ReadDb, repoUid: string, subject: string, query: ReferrerQuery): Promise<Referrers> {
  const found = await findRows(db, repoUid, subject, query);
  const { rows, hasMore } = cutPage(found, MAX_REFERRERS_PER_PAGE, ({ bytes }) => bytes ?? 0, MAX_ANNOTATION_BYTES);
  const annotations = await readAnnotations(db, repoUid, rows);
  const descriptors = rows.flatMap((row) => descriptorOf(row, annotations.get(row.digest)) ?? []);
  return { descriptors, next: hasMore ? rows.at(-1)?.digest : undefined };
}

interface FoundReferrer {
  readonly digest: string;
  readonly media_type: string;
  readonly size: number;
  readonly artifact_type: string | null;
  /** Size of the annotations; null without annotations. */
  readonly bytes: number | null;
}

/** Reads one more row than a page has, without its annotations. */
function findRows(db: ReadDb, repoUid: string, subject: string, { artifactType, after }: ReferrerQuery): Promise<FoundReferrer[]> {
  let query = db
    .selectFrom("manifest")
    .select((eb) => ["digest", "media_type", "size", "artifact_type", eb.fn<number | null>("octet_length", ["annotations"]).as("bytes")])
    .where("repo_uid", "=", repoUid)
    .where("subject", "=", subject);
  if (artifactType !== undefined) query = query.where("artifact_type", "=", artifactType);
  if (after !== undefined) query = query.where("digest", ">", after);
  return query
    .orderBy("digest")
    .limit(MAX_REFERRERS_PER_PAGE + 1)
    .execute();
}

/** By digest. */
async function readAnnotations(db: ReadDb, repoUid: string, rows: readonly FoundReferrer[]): Promise<ReadonlyMap<string, string>> {
  const annotated = rows.filter(({ bytes }) => bytes !== null).map(({ digest }) => digest);
  if (annotated.length === 0) return new Map();
  const read = await db
    .selectFrom("manifest")
    .select(["digest", "annotations"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(annotated).as("v")).select("v.value"))
    .execute();
  return new Map(read.map(({ digest, annotations }) => [digest, annotations ?? "{}"]));
}

/** Undefined for a manifest that was deleted before its annotations were read. */
function descriptorOf(row: FoundReferrer, annotations: string | undefined): string | undefined {
  const { digest, media_type: mediaType, size, artifact_type: artifactType, bytes } = row;
  const fields = JSON.stringify({ mediaType, digest, size, ...(artifactType !== null && { artifactType }) });
  if (bytes === null) return fields;
  return annotations === undefined ? undefined : `${fields.slice(0, -1)},"annotations":${annotations}}`;
}
