/** Lists the manifests whose subject is a digest (OCI distribution specification 1.1, "Listing Referrers"). */
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

export async function findReferrers(
  db: ReadDb,
  repoUid: string,
  subject: string,
  { artifactType, after }: { readonly artifactType: string | undefined; readonly after: string | undefined },
): Promise<Referrers> {
  let query = db
    .selectFrom("manifest")
    .select(["digest", "media_type", "size", "artifact_type", "annotations"])
    .where("repo_uid", "=", repoUid)
    .where("subject", "=", subject);
  if (artifactType !== undefined) query = query.where("artifact_type", "=", artifactType);
  if (after !== undefined) query = query.where("digest", ">", after);
  const rows = await query
    .orderBy("digest")
    .limit(MAX_REFERRERS_PER_PAGE + 1)
    .execute();
  const descriptors: string[] = [];
  let bytes = 0;
  let last: string | undefined;
  for (const { digest, media_type: mediaType, size, artifact_type: type, annotations } of rows) {
    bytes += annotations?.length ?? 0;
    if (descriptors.length === MAX_REFERRERS_PER_PAGE || (bytes > MAX_ANNOTATION_BYTES && descriptors.length > 0))
      return { descriptors, next: last };
    const fields = JSON.stringify({ mediaType, digest, size, ...(type !== null && { artifactType: type }) });
    descriptors.push(annotations === null ? fields : `${fields.slice(0, -1)},"annotations":${annotations}}`);
    last = digest;
  }
  return { descriptors, next: undefined };
}
