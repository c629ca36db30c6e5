/** The container registry: `/v2/`, the tokens for it, and its repos, tags and images in the API. */
import type { ServiceImplementation } from "../api/call/implement.ts";
import type { RequiredTerms } from "../api/call/required-terms.ts";
import type { Platform, Served } from "../api/domain.ts";
import type { Mount } from "../http/mount.ts";
import type { Iam } from "../iam/iam.ts";
import { EventContexts } from "../outbox/event-context.ts";
import { endOfLifeService } from "./api/end-of-life.ts";
import { imageContentsService } from "./api/image-contents.ts";
import { imagePackagesService } from "./api/image-packages.ts";
import { imageReferrersService } from "./api/image-referrers.ts";
import { imagesService } from "./api/images.ts";
import { pullRecordingsService } from "./api/pull-recordings.ts";
import { type ReposCollaborators, reposService } from "./api/repos.ts";
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
import type { OciParts } from "./oci/oci-request.ts";
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
  const { grants } = iam;
  const content = startContent(platform, settings);
  const sharing = platform.own(startSharing({ ...platform, grants }));
  const collaborators = { ...platform, grants, emptyRepo: createRepoEmptying(platform.store), onShare: () => sharing.wake() };
  return { services: registryServices(collaborators, settings), mounts: registryMounts(platform, iam, settings, content) };
}

/** The parts of the registry protocol that store content, and that report it to the workers. */
type Content = Pick<OciParts, "uploads" | "keepManifest" | "pulls" | "names" | "onManifest">;

function startContent(platform: Platform, settings: RegistrySettings): Content {
  const { store, blobs, clock, log, parsers, registryHost, blobReferences: references } = platform;
  const { gcGraceMs: graceMs, gcIntervalMs } = settings;
  const names = { ...platform.names, registryHost, contexts: new EventContexts() };
  const uploads = createUploads({ store, blobs, clock, graceMs, references });
  const keepManifest = createManifestKeeper({ store, clock, graceMs });
  const onCollected = createCollectionCounter(platform.meter);
  meterRegistry(store, platform.meter);
  const collector = createCollector({ store, blobs, references, uploads, clock, log, graceMs, onCollected });
  if (gcIntervalMs > 0) platform.own(collector.start(gcIntervalMs));
  const hourly = platform.own(startHourlyPulls({ store, clock, names, log }));
  const pulls = platform.own(new PullEvents({ store, names, log, recordings: settings.pullEvents, onCount: () => hourly.wake() }));
  const packages = settings.imagePackages ? platform.own(startPackageReader({ store, blobs, clock, log, parsers })) : undefined;
  const facts = platform.own(startSpreadingFacts(store, clock, log));
  const onManifest = () => {
    packages?.wake();
    facts.wake();
  };
  return { uploads, keepManifest, pulls, names, onManifest };
}

function registryMounts(platform: Platform, iam: Iam, settings: RegistrySettings, content: Content): readonly Mount[] {
  const { store, blobs, clock, memory, parsers, frame, registryHost, profile } = platform;
  const { registryUrl, requiredTerms } = settings;
  const { accessTokens, exchange, contentLogin: authenticator, contentAudience: audience } = iam;
  const createFolder = settings.registryCreateFolders ? iam.createFolder : undefined;
  const { transferIdleMs } = platform.limits;
  const parts = { ...content, store, blobs, createFolder, clock, memory, parsers, transferIdleMs };
  const historySegments = profile.registrySegments;
  const oci = createOciHandler({ frame, parts, authenticator, registryUrl, historySegments, requiredTerms });
  const tokenOptions = { store, createFolder, clock, accessTokens, audience, host: registryHost };
  const token = createTokenHandler({ ...tokenOptions, frame, exchange, authenticator, memory });
  return [
    { paths: ["/v2", "/v2/*"], serve: oci },
    { paths: ["/token"], serve: token },
  ];
}

type Collaborators = Platform & ReposCollaborators;

function registryServices(collaborators: Collaborators, { pullEvents }: RegistrySettings): readonly ServiceImplementation[] {
  return [
    reposService(collaborators),
    tagsService(collaborators),
    imagesService,
    imagePackagesService(collaborators),
    imageContentsService(collaborators),
    endOfLifeService,
    registryV1(collaborators),
    pullRecordingsService(pullEvents),
    imageReferrersService(collaborators),
    signatureKeysService(collaborators),
  ];
}
