/** Opens the store of blobs that the settings name, with the other place while blobs move between the two. */
import type { Store } from "../db/store.ts";
import type { Log } from "../lib/log.ts";
import { adoptBlobHome, assertBlobHome, type BlobHome } from "./blob-home.ts";
import type { BlobPlaceSetting, BlobSettings } from "./blob-settings.ts";
import { createFallbackBlobs } from "./fallback.ts";
import { createFilesystemBlobs } from "./filesystem.ts";
import { folderHome } from "./folder-id.ts";
import type { BlobStore } from "./store.ts";

export interface OpenBlobsOptions {
  readonly settings: BlobSettings;
  readonly store: Store;
  readonly log: Log;
}

/** Where blobs are now, and where they were before while they move. */
export interface OpenedBlobs {
  readonly blobs: BlobStore;
  readonly fallback: BlobStore | undefined;
}

interface FoundPlace {
  readonly home: BlobHome;
  /** Opens the store, which creates its folders. A refused place stays as it is. */
  open(): BlobStore;
}

/** @throws Error for the operator if the blobs are those of another database, or missing */
export async function openBlobPlaces(options: OpenBlobsOptions, stack: AsyncDisposableStack): Promise<OpenedBlobs> {
  const { blobs: place, blobsFallback: other } = options.settings;
  const primary = await findPlace(place, options);
  const fallback = other === undefined ? undefined : await findPlace(other, options);
  await assertBlobHome(options.store, primary.home, fallback?.home);
  return { blobs: stack.use(primary.open()), fallback: fallback && stack.use(fallback.open()) };
}

/** @throws Error for the operator */
export async function openBlobs(options: OpenBlobsOptions, stack: AsyncDisposableStack): Promise<BlobStore> {
  const { blobs, fallback } = await openBlobPlaces(options, stack);
  return fallback === undefined ? blobs : createFallbackBlobs(blobs, fallback);
}

export async function adoptBlobs(options: OpenBlobsOptions): Promise<string> {
  const { home, open } = await findPlace(options.settings.blobs, options);
  await using _ = open();
  await adoptBlobHome(options.store, home);
  return home.name;
}

/** The folder of blobs before a database says that it is the right one. */
export function openBlobFolder(dataDir: string, log: Log): BlobStore {
  return createFilesystemBlobs({ dataDir, log });
}

async function findPlace(place: BlobPlaceSetting, { settings, store, log }: OpenBlobsOptions): Promise<FoundPlace> {
  const { dataDir, s3Endpoint: endpoint, s3Region: region, s3PathStyle: pathStyle, blobsRedirect } = settings;
  if (place === "folder") return { home: folderHome(dataDir), open: () => createFilesystemBlobs({ dataDir, log }) };
  // Loading the client of S3 takes longer than the rest of a start.
  const [{ createS3Blobs }, { bucketHome }] = await Promise.all([import("./s3/s3-blobs.ts"), import("./s3/bucket-home.ts")]);
  const location = { ...place, endpoint, region, pathStyle };
  const blobs = createS3Blobs({ location, store, log, redirects: blobsRedirect.isOn, publicEndpoint: blobsRedirect.endpoint });
  return { home: bucketHome(blobs.bucket), open: () => blobs };
}
