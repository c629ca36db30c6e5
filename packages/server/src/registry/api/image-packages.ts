/** The packages in images, as the server found them after the push. Read-only. */
import { create } from "@bufbuild/protobuf";
import {
  ImagePackageSchema,
  ImagePackagesService,
  type ImageScan,
  ImageScan_State,
  ImageScanSchema,
  ListImagePackagesResponseSchema,
} from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { implement, read } from "../../api/call/implement.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { cutPage } from "../../api/resource/page-bytes.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import { timestampFromText } from "../../lib/clock.ts";
import { descriptionsOf, type ImageDescription } from "../packages/descriptions.ts";
import { type ListedPackage, listPackages, type PackageKey, packageKeyOf } from "../packages/list-packages.ts";

const states = { pending: ImageScan_State.PENDING, done: ImageScan_State.DONE, failed: ImageScan_State.FAILED } as const;

export function imagePackagesService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(
    ImagePackagesService,
    {
      listImagePackages: read(async (request, { db, now, operation, principal }) => {
        const { uid, digest, pageToken } = request;
        const { limit } = parsePageRequest({ pageSize: request.pageSize, skip: 0 });
        const binding = bindingOf({ operation, principal }, uid, digest);
        const position = pageToken === "" ? undefined : pageTokens.open(pageToken, binding, now);
        const after = position === undefined ? undefined : (JSON.parse(position.key) as PackageKey);
        const descriptions = await descriptionsOf(db, uid, digest);
        const found = await listPackages(db, descriptions, after, limit + 1);
        const { rows: packages, hasMore } = cutPage(found, limit, bytesOf);
        const last = hasMore ? packages.at(-1) : undefined;
        return create(ListImagePackagesResponseSchema, {
          packages: packages.map(packageOf),
          nextPageToken:
            last === undefined ? "" : pageTokens.seal({ key: JSON.stringify(packageKeyOf(last)), uid: "", skipped: 0 }, binding, now),
          state: stateOf(descriptions),
          scans: descriptions.map(scanOf),
        });
      }),
    },
    "Repo",
  );
}

function bytesOf({ name, version, architecture, origin, purl, source, location }: ListedPackage): number {
  return [name, version, architecture, origin, purl, source, location].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function packageOf({ description, ...found }: ListedPackage) {
  const { type, name, version, architecture, origin, purl, source, location } = found;
  const { imageDigest, platform } = description;
  return create(ImagePackageSchema, { type, name, version, architecture, origin, purl, source, location, imageDigest, platform });
}

function scanOf({ digest, imageDigest, platform, scan }: ImageDescription): ImageScan {
  return create(ImageScanSchema, {
    digest,
    imageDigest,
    platform,
    state: states[scan.state],
    distribution: scan.distribution,
    ...(scan.read_time !== null && { readTime: timestampFromText(scan.read_time) }),
    error: scan.error,
    packageCount: scan.package_count,
  });
}

function stateOf(descriptions: readonly ImageDescription[]): ImageScan_State {
  const found = (["pending", "failed", "done"] as const).find((state) => descriptions.some(({ scan }) => scan.state === state));
  return found === undefined ? ImageScan_State.UNSPECIFIED : states[found];
}
