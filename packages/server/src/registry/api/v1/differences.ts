/** Where repos and tags of version 1 differ from version 2 beyond the rules of names. */
import { type Message, toBinary } from "@bufbuild/protobuf";
import type { ApkoConfig_Accounts_Group, ApkoConfig_Accounts_User } from "@holt/api/gen/platform/registry/v1/apko_pb.ts";
import {
  CatalogTierSchema as CatalogTierV1Schema,
  CustomOverlaySchema as CustomOverlayV1Schema,
  type Repo as RepoV1,
  type TagFilter,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import {
  CatalogTier,
  CatalogTierSchema,
  type CustomOverlay_Accounts_Group,
  type CustomOverlay_Accounts_User,
  type Repo,
} from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import type { ListTagsRequest } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import type { Differences } from "../../../api/v1/field-pairs.ts";
import { invalidArgument } from "../../../lib/errors.ts";

const TIER_PREFIX = "CATALOG_TIER_";

export const registryDifferences: Differences = {
  "platform.registry.v1.CreateRepoRequest": { absent: ["prevent_existing"] },
  "platform.registry.v1.Repo": {
    answered: {
      readme: ({ readme = "" }) => readme,
      catalog_tier: ({ catalogTier }) => tierV1Of(String(catalogTier)),
    },
    // A name cannot be empty. The others have an explicit empty value.
    keptIfUnset: ["name", "sync_config", "custom_overlay"],
    received: receiveRepo,
  },
  "platform.registry.v1.SyncConfig": { answered: { sync_apks: ({ syncApks = false }) => syncApks } },
  "platform.registry.v1.ApkoConfig.Accounts.User": {
    renamed: { user_name: "username" },
    // Version 2 does not distinguish an unset gid from 0.
    answered: { uid: ({ uid = 0 }) => uid, gid: ({ gid, isInGroupZero }) => gid || (isInGroupZero ? 0 : undefined) },
    received: receiveUser,
  },
  "platform.registry.v1.ApkoConfig.Accounts.Group": {
    renamed: { group_name: "groupname" },
    answered: { gid: ({ gid = 0 }) => gid },
    received: receiveGroup,
  },
  "platform.registry.v1.CreateTagRequest": { renamed: { repo_id: "parent" } },
  "platform.registry.v1.Tag": { renamed: { last_updated: "update_time" } },
  "platform.registry.v1.TagFilter": { absent: ["exclude_referrers", "exclude_dates", "exclude_epochs"], received: receiveTagFilter },
};

/** Tiers have the same names, with a prefix in version 2, and other numbers. */
function tierV1Of(name: string): string {
  return CatalogTierV1Schema.values.find((value) => TIER_PREFIX + value.name === name)?.name ?? "UNKNOWN";
}

function receiveRepo(given: RepoV1, converted: Repo): void {
  const name = CatalogTierV1Schema.value[given.catalogTier]?.name;
  if (name === undefined) throw invalidArgument("catalog_tier", `catalog_tier has no value ${given.catalogTier}`);
  converted.catalogTier =
    (CatalogTierSchema.values.find((value) => value.name === TIER_PREFIX + name)?.number as CatalogTier | undefined) ??
    CatalogTier.UNSPECIFIED;
  // An empty message stands for none.
  if (given.syncConfig?.source === "") delete converted.syncConfig;
  if (given.customOverlay !== undefined && toBinary(CustomOverlayV1Schema, given.customOverlay).length === 0)
    delete converted.customOverlay;
}

function receiveUser(given: ApkoConfig_Accounts_User, converted: CustomOverlay_Accounts_User): void {
  converted.uid = int32Of(given.uid);
  converted.gid = int32Of(given.gid ?? 0);
}

function receiveGroup(given: ApkoConfig_Accounts_Group, converted: CustomOverlay_Accounts_Group): void {
  converted.gid = int32Of(given.gid);
}

/** An id above the greatest int32 becomes negative, which the rules of overlays refuse. */
function int32Of(id: number): number {
  return id | 0;
}

/** Version 1 shows all tags by default, version 2 hides those that machines create. */
function receiveTagFilter(given: TagFilter & Message, converted: ListTagsRequest): void {
  converted.includeReferrers = !given.excludeReferrers;
  converted.includeDates = !given.excludeDates;
  converted.includeEpochs = !given.excludeEpochs;
}
