/** Stores the attestations of a file as its provenance object (PEP 740), which is served as it is stored. */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { sha256Hex } from "../../lib/sha256.ts";

export interface Provenance {
  readonly version: 1;
  readonly attestation_bundles: readonly Bundle[];
}

/** The attestations of one publisher. */
interface Bundle {
  readonly publisher: Publisher;
  readonly attestations: readonly unknown[];
}

interface Publisher {
  readonly kind: "Holt";
  readonly claims: null;
  /** Uid of the identity that uploaded the attestations. */
  readonly identity?: string;
}

export interface StoredProvenance {
  /** SHA-256 of `body`, in hexadecimal. */
  readonly digest: string;
  readonly body: string;
}

interface NewAttestations {
  readonly artifactUid: string;
  readonly path: string;
  /** JSON texts. */
  readonly attestations: readonly string[];
  /** Uid of the identity that uploads them. */
  readonly publisher: string;
}

/** Attestations of one file, of all publishers together. */
const MAX_ATTESTATIONS_OF_FILE = 20;

/**
 * Adds the attestations that the file does not have yet. The caller has locked the artifact.
 * @returns the number of those added @throws INVALID_ARGUMENT if the file would have too many
 */
export async function addAttestations(db: WriteDb, { artifactUid, path, attestations, publisher }: NewAttestations): Promise<number> {
  if (attestations.length === 0) return 0;
  const stored = await readProvenance(db, artifactUid, path);
  const bundles = stored === undefined ? [] : (JSON.parse(stored.body) as Provenance).attestation_bundles;
  const known = new Set(bundles.flatMap((bundle) => bundle.attestations.map((attestation) => JSON.stringify(attestation))));
  const added = [...new Set(attestations)].filter((text) => !known.has(text));
  if (added.length === 0) return 0;
  if (known.size + added.length > MAX_ATTESTATIONS_OF_FILE)
    throw invalidArgument("attestations", `a file can have at most ${MAX_ATTESTATIONS_OF_FILE} attestations`);
  const bundle: Bundle = {
    publisher: { kind: "Holt", claims: null, identity: publisher },
    attestations: added.map((text) => JSON.parse(text) as unknown),
  };
  const body = JSON.stringify({ version: 1, attestation_bundles: withBundle(bundles, bundle) } satisfies Provenance);
  const row = { digest: sha256Hex(Buffer.from(body)), body };
  await db
    .insertInto("library_provenance")
    .values({ artifact_uid: artifactUid, path, ...row })
    .onConflict((conflict) => conflict.columns(["artifact_uid", "path"]).doUpdateSet(row))
    .execute();
  return added.length;
}

/** The same provenance without the uids of identities. */
export function anonymousProvenance({ body }: StoredProvenance): StoredProvenance {
  const { version, attestation_bundles: bundles } = JSON.parse(body) as Provenance;
  const anonymous = bundles.map(({ publisher: { kind, claims }, attestations }) => ({ publisher: { kind, claims }, attestations }));
  const text = JSON.stringify({ version, attestation_bundles: anonymous } satisfies Provenance);
  return { digest: sha256Hex(Buffer.from(text)), body: text };
}

/** A publisher has one bundle. */
function withBundle(bundles: readonly Bundle[], added: Bundle): readonly Bundle[] {
  const isOfSame = ({ publisher }: Bundle) => publisher.identity === added.publisher.identity;
  if (!bundles.some(isOfSame)) return [...bundles, added];
  return bundles.map((bundle) =>
    isOfSame(bundle) ? { ...bundle, attestations: [...bundle.attestations, ...added.attestations] } : bundle,
  );
}

export function readProvenance(db: ReadDb, artifactUid: string, path: string): Promise<StoredProvenance | undefined> {
  return db
    .selectFrom("library_provenance")
    .select(["digest", "body"])
    .where("artifact_uid", "=", artifactUid)
    .where("path", "=", path)
    .executeTakeFirst();
}

export interface AttestedFiles {
  readonly artifactUid: string;
  /** Only this file; empty for all. */
  readonly fileName: string;
  /** Last file of the page before; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

/** @returns the names of files with attestations, in their order */
export async function findAttestedFiles(db: ReadDb, { artifactUid, fileName, after, limit }: AttestedFiles): Promise<readonly string[]> {
  const all = db.selectFrom("library_provenance").select("path").where("artifact_uid", "=", artifactUid).where("path", ">", after);
  const wanted = fileName === "" ? all : all.where("path", "=", fileName);
  return (await wanted.orderBy("path").limit(limit).execute()).map(({ path }) => path);
}
