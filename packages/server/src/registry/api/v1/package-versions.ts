/** Versions of packages in version 1 of the API, as far as the images that the caller may read contain them. */
import { create } from "@bufbuild/protobuf";
import { PackageVersionMetadataSchema, type Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import { listCapabilities } from "../../../api/resource/conditions.ts";
import { notFound } from "../../../lib/errors.ts";
import { findReleases } from "../../packages/package-versions.ts";

const MAX_NAME = 255;

export const packageVersions = {
  getPackageVersionMetadata: read(async ({ package: name }, call) => {
    const scopes = call.access.scopes(listCapabilities(call));
    const found = name === "" || name.length > MAX_NAME || scopes.length === 0 ? undefined : await findReleases(call.db, name, scopes);
    if (found === undefined) throw notFound("PackageVersionMetadata", name.slice(0, MAX_NAME));
    const versions = found.releases.map(({ version, latest }) => ({ version, latestVersion: latest, exists: true }));
    return create(PackageVersionMetadataSchema, {
      versions,
      latestVersion: versions[0]?.version ?? "",
      lastUpdatedTimestamp: found.time,
    });
  }),
} satisfies Handlers<typeof Registry>;
