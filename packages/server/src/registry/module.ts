/** The container registry: `/v2/`, the tokens for it, and its repos, tags and images in the API. */
import type { RequiredTerms } from "../api/call/required-terms.ts";
import type { Domain, Platform, Served } from "../api/module.ts";
import type { Iam } from "../iam/iam.ts";
import { rootOf } from "../lib/uid.ts";
import { EventContexts } from "../outbox/event-context.ts";
import { endOfLifeService } from "./api/end-of-life.ts";
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
import { PullEvents } from "./content/pull-events.ts";
import type { PullRecordings } from "./content/pull-recording.ts";
import { createUploads } from "./content/uploads.ts";
import { registry } from "./migrations/002-registry.ts";
import { imagePackages } from "./migrations/011-image-packages.ts";
import { indexPlatforms } from "./migrations/014-index-platforms.ts";
import { readingTurns } from "./migrations/018-reading-turns.ts";
import { scanLeases } from "./migrations/022-scan-leases.ts";
import { pullCounts } from "./migrations/026-pull-counts.ts";
import { repoSync } from "./migrations/028-repo-sync.ts";
import { pushes } from "./migrations/031-pushes.ts";
import { imageDocuments } from "./migrations/032-image-documents.ts";
import { signatureKeys } from "./migrations/036-signature-keys.ts";
import { endOfLife } from "./migrations/037-end-of-life.ts";
import { createOciHandler } from "./oci/oci-handler.ts";
import { createTokenHandler } from "./oci/token-handler.ts";
import { startPackageReader } from "./packages/package-reader.ts";
import { startSharing } from "./sync/share-queue.ts";
import "./tables.ts";

/** Subscribers of an organization hear of its tags: the parent of a tag is a repo, not a group. */
const ofOrganization = ({ uid }: { uid: string }) => ({ subject: uid, group: rootOf(uid) });
const ofOrganizationV1 = ({ id }: { id: string }) => ofOrganization({ uid: id });

export const registryDomain: Domain = {
  name: "registry",
  migrations: [
    registry,
    imagePackages,
    indexPlatforms,
    readingTurns,
    scanLeases,
    pullCounts,
    repoSync,
    pushes,
    imageDocuments,
    signatureKeys,
    endOfLife,
  ],
  onGroupDelete: {
    blockedBy: [
      { table: "repo", what: "child repos" },
      { table: "signature_key", what: "child signature keys" },
    ],
    alsoDeletes: [
      { table: "package_origin", column: "org_uid" },
      { table: "image_wait", column: "org_uid" },
      { table: "image_turn", column: "org_uid" },
      { table: "pull_recording", column: "org_uid" },
      { table: "registry_settings", column: "group_uid" },
    ],
  },
  blobReferences: [{ table: "repo_blob", column: "digest" }],
  eventSubjects: {
    "platform.registry.v2.Tag": ofOrganization,
    "platform.registry.v2.DeleteTagRequest": ofOrganization,
    "holt.v1.PullRecording": ofOrganization,
    "platform.registry.v1.Tag": ofOrganizationV1,
    "platform.registry.v1.DeleteTagRequest": ofOrganizationV1,
    "holt.v1.EndOfLife": ofOrganization,
  },
};

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
  const uploads = createUploads({ store, blobs, clock, graceMs });
  const collector = createCollector({ store, blobs, references, uploads, clock, log, graceMs });
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
  const parts = { store, blobs, names, createFolder, clock, memory, parsers, requiredTerms, transferIdleMs, uploads, pulls, onManifest };
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
