/** The container registry: `/v2/`, the tokens for it, and its repos, tags and images in the API. */
import type { RequiredTerms } from "../api/call/required-terms.ts";
import type { Platform, Served } from "../api/module.ts";
import type { Iam } from "../iam/iam.ts";
import { EventContexts } from "../outbox/event-context.ts";
import { endOfLifeService } from "./api/end-of-life.ts";
import { imageContentsService } from "./api/image-contents.ts";
import { imagePackagesService } from "./api/image-packages.ts";
import { imageReferrersService } from "./api/image-referrers.ts";
import { imagesService } from "./api/images.ts";
import { pullRecordingsService } from "./api/pull-recordings.ts";
import { reposService } from "./api/repos.ts";
import { signatureKeysService } from "./api/signature-keys.ts";
import { tagsService } from "./api/tags.ts";
import { registryV1 } from "./api/v1/registry.ts";
import { createCollector } from "./collection/gc.ts";
import { createRepoEmptying } from "./content/empty-repo.ts";
import { startHourlyPulls } from "./content/hourly-pulls.ts";
import { startSpreadingFacts } from "./content/image-facts-queue.ts";
import { createManifestKeeper } from "./content/keep-manifest.ts";
import { PullEvents } from "./content/pull-events.ts";
import type { PullRecordings } from "./content/pull-recording.ts";
import { createUploads } from "./content/uploads.ts";
import { createCollectionCounter, meterRegistry } from "./metrics/registry-metrics.ts";
import { createOciHandler } from "./oci/oci-handler.ts";
import { createTokenHandler } from "./oci/token-handler.ts";
import { startPackageReader } from "./packages/package-reader.ts";
import { startSharing } from "./sync/share-queue.ts";

export interface RegistrySettings {
  readonly registryUrl: string;
  readonly gcGraceMs: number;
  /** 0 for never. */
  readonly gcIntervalMs: number;
  readonly pullEvents: PullRecordings;
  /** Whether a push creates missing folders, for callers who may. */
  readonly registryCreateFolders: boolean;
  /** Whether this server reads the packages of images. */
  readonly imagePackages: boolean;
  readonly requiredTerms: RequiredTerms;
}

export function startRegistry(platform: Platform, iam: Iam, settings: RegistrySettings): Served {
  const { store, blobs, clock, log, profile, registryHost, memory, frame, parsers } = platform;
  const { registryUrl, requiredTerms, gcGraceMs: graceMs } = settings;
  const { contentLogin: authenticator } = iam;
  const names = { ...platform.names, registryHost, contexts: new EventContexts() };
  const { blobReferences: references } = platform;
  const uploads = createUploads({ store, blobs, clock, graceMs, references });
  const keepManifest = createManifestKeeper({ store, clock, graceMs });
  const onCollected = createCollectionCounter(platform.meter);
  meterRegistry(store, platform.meter);
  const collector = createCollector({ store, blobs, references, uploads, clock, log, graceMs, onCollected });
  if (settings.gcIntervalMs > 0) platform.own(collector.start(settings.gcIntervalMs));
  const hourly = platform.own(startHourlyPulls({ store, clock, names, log }));
  const pulls = platform.own(new PullEvents({ store, names, log, recordings: settings.pullEvents, onCount: () => hourly.wake() }));
  const packages = settings.imagePackages ? platform.own(startPackageReader({ store, blobs, clock, log, parsers })) : undefined;
  const facts = platform.own(startSpreadingFacts(store, clock, log));
  const onManifest = () => {
    packages?.wake();
    facts.wake();
  };
  const { transferIdleMs } = platform.limits;
  const createFolder = settings.registryCreateFolders ? iam.createFolder : undefined;
  const parts = {
    store,
    blobs,
    names,
    createFolder,
    clock,
    memory,
    parsers,
    requiredTerms,
    transferIdleMs,
    uploads,
    keepManifest,
    pulls,
    onManifest,
  };
  const oci = createOciHandler({
    frame,
    parts,
    authenticator,
    registryUrl,
    historySegments: profile.registrySegments,
    requiredTerms,
  });
  const { accessTokens, exchange, contentAudience: audience } = iam;
  const { grants } = iam;
  const sharing = platform.own(startSharing({ store, clock, log, grants }));
  const token = createTokenHandler({
    frame,
    store,
    createFolder,
    clock,
    accessTokens,
    exchange,
    authenticator,
    memory,
    audience,
    host: registryHost,
  });
  const collaborators = { ...platform, grants, emptyRepo: createRepoEmptying(store), onShare: () => sharing.wake() };
  return {
    services: [
      reposService(collaborators),
      tagsService(collaborators),
      imagesService,
      imagePackagesService(collaborators),
      imageContentsService(collaborators),
      endOfLifeService,
      registryV1(collaborators),
      pullRecordingsService(settings.pullEvents),
      imageReferrersService(collaborators),
      signatureKeysService(collaborators),
    ],
    mounts: [
      { paths: ["/v2", "/v2/*"], serve: oci },
      { paths: ["/token"], serve: token },
    ],
  };
}
