/** Copies an image from one repository to another: blobs first, then manifests, and the tag last. */
import { exitStatus, Failure } from "../failure.ts";
import { copyBlob } from "./copy-blob.ts";
import type { Copied, CopyRequest } from "./copy-request.ts";
import {
  type Descriptor,
  fallbackTag,
  findManifest,
  hasManifest,
  listReferrers,
  type Manifest,
  OCI_INDEX,
  pushManifest,
  type Repository,
} from "./repository.ts";

/** Blobs of one image at the same time. */
const CONCURRENCY = 4;
const MAX_DEPTH = 8;

export async function copyImage(request: CopyRequest): Promise<Copied> {
  const { source, target, reference, tag } = request;
  const root = await findManifest(source, reference);
  if (root === undefined)
    throw new Failure(`${source.registry.host}/${source.name} has no image "${reference}" that you can see`, {
      status: exitStatus.notFound,
    });
  const copied: Copied = { digest: root.digest, manifests: 0, uploaded: 0, mounted: 0, present: 0, bytes: 0, referrers: 0 };
  const copy = createCopy(request, copied);
  await copy.manifest(root, 0);
  // Last, so that the tag never names an image that is not whole.
  if (tag !== undefined) await pushManifest(target, root, tag);
  return copied;
}

function createCopy(request: CopyRequest, copied: Copied) {
  const { source, target, withReferrers } = request;
  const blobs = new Map<string, Promise<void>>();
  const done = new Set<string>();

  async function manifest(found: Manifest, depth: number): Promise<void> {
    if (done.has(found.digest)) return;
    done.add(found.digest);
    if (depth > MAX_DEPTH) throw new Failure("the image has indexes within indexes without end", { status: exitStatus.invalid });
    const { manifests, config, layers } = parse(found);
    for (const child of manifests ?? []) await byDigest(child, depth + 1);
    // Layers with URLs belong to somebody else, who distributes them.
    const needed = [...(config ? [config] : []), ...(layers ?? []).filter(({ urls }) => (urls ?? []).length === 0)];
    await inParallel(needed, (blob) => once(blobs, blob.digest, () => copyBlob(blob, request, copied)));
    if (!(await hasManifest(target, found.digest))) {
      await pushManifest(target, found, found.digest);
      copied.manifests++;
    }
    if (withReferrers) await referrers(found, depth);
  }

  async function byDigest({ digest }: Descriptor, depth: number): Promise<void> {
    const found = await findManifest(source, digest);
    if (found === undefined)
      throw new Failure(`the source does not have ${digest}, which the image consists of`, { status: exitStatus.notFound });
    await manifest(found, depth);
  }

  async function referrers({ digest }: Manifest, depth: number): Promise<void> {
    const found = await listReferrers(source, digest);
    for (const referrer of found) {
      await byDigest(referrer, depth + 1);
      copied.referrers++;
    }
    const missing = await missingReferrers(target, digest, found);
    if (missing.length > 0) await pushFallbackIndex(target, digest, missing);
  }

  return { manifest };
}

/** The referrers that the registry of the copy does not list by itself. */
async function missingReferrers(target: Repository, digest: string, wanted: readonly Descriptor[]): Promise<readonly Descriptor[]> {
  if (wanted.length === 0) return [];
  const listed = new Set((await listReferrers(target, digest)).map((one) => one.digest));
  return wanted.filter((one) => !listed.has(one.digest));
}

/** For registries without the referrers API (OCI Distribution 1.1, "referrers tag schema"). */
async function pushFallbackIndex(target: Repository, digest: string, missing: readonly Descriptor[]): Promise<void> {
  const manifests = [...(await listReferrers(target, digest)), ...missing];
  const content = new TextEncoder().encode(JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests }));
  await pushManifest(target, { mediaType: OCI_INDEX, digest: "", content }, fallbackTag(digest));
}

/** Clients in Go write an empty list as null. */
interface Parsed {
  readonly manifests?: readonly Descriptor[] | null;
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[] | null;
}

function parse({ content, digest }: Manifest): Parsed {
  try {
    return JSON.parse(new TextDecoder().decode(content)) as Parsed;
  } catch {
    throw new Failure(`the manifest ${digest} is not valid JSON`, { status: exitStatus.invalid });
  }
}

function once(known: Map<string, Promise<void>>, key: string, work: () => Promise<void>): Promise<void> {
  const running = known.get(key) ?? work();
  known.set(key, running);
  return running;
}

/** Waits for all that have begun, so that none goes on after a failure. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined && failures.length === 0; item = queue.shift())
      await work(item).catch((error: unknown) => void failures.push(error));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  if (failures.length > 0) throw failures[0];
}
