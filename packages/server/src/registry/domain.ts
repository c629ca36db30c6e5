/** Static facts about the domain `registry`: tables, migrations, events. Every command loads this file, so keep its imports few. */
import { SearchHit_Kind } from "@holt/api/gen/holt/v1/search_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { sql } from "kysely";
import type { Domain } from "../api/domain.ts";
import { rootOf } from "../lib/uid.ts";
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
import { repoVersionOne } from "./migrations/039-repo-version-one.ts";
import { blobUploads } from "./migrations/046-blob-uploads.ts";
import { holdersOfBlobs } from "./migrations/060-holders-of-blobs.ts";
import { registryTables } from "./organization-tables.ts";
import { FACTS_LEASE_MS, SCAN_LEASE_MS, SHARE_LEASE_MS } from "./tables.ts";

/** Subscribers of an organization are notified of its tags: the parent of a tag is a repo, not a group. */
const ofOrganization = ({ uid }: { uid: string }) => ({ subject: uid, group: rootOf(uid) });
const ofOrganizationV1 = ({ id }: { id: string }) => ofOrganization({ uid: id });

export const registryDomain: Domain = {
  name: "registry",
  search: [
    { kind: SearchHit_Kind.REPOSITORY, capability: Capability.CAP_REPO_LIST, table: "repo", column: "name" },
    {
      kind: SearchHit_Kind.TAG,
      capability: Capability.CAP_TAG_LIST,
      table: "tag",
      column: "name",
      // The uid of the repo is that of the tag without its last segment.
      context: sql<string>`(select p.name from repo as p where p.uid = substr(r.uid, 1, length(r.uid) - 17))`,
    },
  ],
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
    repoVersionOne,
    blobUploads,
    holdersOfBlobs,
  ],
  organizationTables: registryTables,
  countedRows: [
    { kind: "repo", table: "repo" },
    { kind: "tag", table: "tag" },
    { kind: "plain_tag", table: "tag", where: "class = 0" },
    { kind: "signature_key", table: "signature_key" },
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
  queues: [
    { name: "image-packages", table: "image_wait", since: "due_time", leases: "image_scan", leaseMs: SCAN_LEASE_MS },
    { name: "image-facts", table: "image_facts_wait", leaseMs: FACTS_LEASE_MS, since: "request_time" },
    { name: "repo-sync", table: "repo_share", leaseMs: SHARE_LEASE_MS, since: "request_time" },
  ],
  blobReferences: [{ table: "repo_blob", column: "digest", holder: "repo_uid" }],
  eventSubjects: {
    "platform.registry.v2.Tag": ofOrganization,
    "platform.registry.v2.DeleteTagRequest": ofOrganization,
    "holt.v1.PullRecording": ofOrganization,
    "platform.registry.v1.Tag": ofOrganizationV1,
    "platform.registry.v1.DeleteTagRequest": ofOrganizationV1,
    "holt.v1.EndOfLife": ofOrganization,
  },
};
