/** Says how the rows of the registry's tables belong to organizations. */

import { isIn, type OrganizationTables, owned, related, stays } from "../transfer/organization-tables.ts";
import { blobsOfExported } from "./content/stored-manifest.ts";

/** Facts about manifests follow from their bytes, so all organizations share them. */
const aboutManifests = (organization: string) =>
  isIn(
    "digest",
    organization,
    { table: "manifest", column: "digest", owner: "repo_uid" },
    { table: "image_wait", column: "digest", owner: "org_uid" },
    { table: "matched_image", column: "digest", owner: "org_uid" },
  );

export const registryTables: OrganizationTables = {
  upload: stays("unfinished uploads"),
  repo: owned("uid"),
  repo_readme: owned("uid"),
  repo_deployment: owned("repo_uid"),
  repo_end_of_life: owned("uid"),
  repo_share: owned("source_uid"),
  repo_blob: owned("repo_uid"),
  registry_settings: owned("group_uid"),
  pull_recording: owned("org_uid"),
  signature_key: owned("uid"),
  manifest: owned("repo_uid", { blobsIn: blobsOfExported }),
  manifest_reference: owned("repo_uid"),
  image: owned("repo_uid"),
  image_facts_wait: owned("repo_uid"),
  chart_image: owned("repo_uid"),
  build_report: owned("uid"),
  tag: owned("uid"),
  tag_end_of_life: owned("uid"),
  tag_history: owned("repo_uid"),
  pull_count: owned("repo_uid"),
  image_scan: related(aboutManifests, { sharedBy: ["digest"] }),
  image_package: related(aboutManifests, { onlyWith: { column: "digest", table: "image_scan" } }),
  index_platform: related(aboutManifests, { sharedBy: ["digest", "manifest_digest"] }),
  image_wait: owned("org_uid"),
  image_turn: owned("org_uid"),
  package_origin: owned("org_uid"),
};
