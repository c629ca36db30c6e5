/** Maps registry actions to the capabilities that they need at a repo. No other file does. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../access/capability-set.ts";

export const rights = {
  pullManifest: capabilitySet([Capability.CAP_MANIFEST_LIST]),
  pullBlob: capabilitySet([Capability.CAP_REPO_BLOBS_GET]),
  listRepos: capabilitySet([Capability.CAP_REPO_LIST]),
  listTags: capabilitySet([Capability.CAP_TAG_LIST]),
  listReferrers: capabilitySet([Capability.CAP_REFERRERS_LIST]),
  push: capabilitySet([Capability.CAP_MANIFEST_CREATE, Capability.CAP_TAG_CREATE]),
  deleteManifest: capabilitySet([Capability.CAP_MANIFEST_DELETE]),
  deleteTag: capabilitySet([Capability.CAP_TAG_DELETE]),
  /** Needed at the group in which the repo is created. */
  createRepo: capabilitySet([Capability.CAP_REPO_CREATE]),
  /** Needed at the group in which missing folders are created. */
  createFolder: capabilitySet([Capability.CAP_IAM_GROUPS_CREATE]),
} as const;

/** Without any of these at a repo, a caller does not learn that it exists. */
export const ANY_OF_REPO = Object.values(rights).reduce((all, right) => all | right, 0n) & ~rights.createFolder;
