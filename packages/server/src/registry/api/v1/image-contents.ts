/** Architectures, sizes and configs of images in version 1 of the API. Version 2 has the first two. */
import { create } from "@bufbuild/protobuf";
import { ArchsSchema, ImageConfigSchema, type Registry, SizeSchema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import type { BlobStore } from "../../../blobs/store.ts";
import { defineParser, type Parsers } from "../../../jobs/parsers.ts";
import { notFound } from "../../../lib/errors.ts";
import { type BlobFile, findBlob, withBlobFile } from "../../content/blob-file.ts";
import { MAX_CONFIG_BYTES } from "../../content/config-platform.ts";
import { DEFAULT_ARCHITECTURE, findImage } from "../../content/find-images.ts";
import type { RunConfig } from "../../content/image-config.ts";
import { findArchitectures, findSize } from "../images.ts";

const runConfigParser = defineParser<BlobFile, RunConfig>({
  module: new URL("../../content/image-config.ts", import.meta.url),
  name: "readRunConfig",
  pool: "documents",
  cpuMs: () => 2000,
  field: "digest",
  content: "the config of the image",
});

export interface ImageContentCollaborators {
  readonly blobs: BlobStore;
  readonly parsers: Parsers;
}

export function imageContents({ blobs, parsers }: ImageContentCollaborators) {
  return {
    getArchs: read(async ({ repoId, digest }, { db }) => create(ArchsSchema, { archs: await findArchitectures(db, repoId, digest) })),
    getSize: read(async ({ repoId, digest, arch }, { db }) => {
      const { size, architecture } = await findSize(db, repoId, digest, arch || DEFAULT_ARCHITECTURE);
      return create(SizeSchema, { size, arch: architecture });
    }),
    getImageConfig: read(async ({ repoId, digest, arch }, { db }) => {
      const image = await findImage(db, repoId, digest, arch);
      const blob = await findBlob(db, repoId, image.config_digest);
      if (blob === undefined) throw notFound("Image", digest);
      const config = await withBlobFile(blobs, blob, MAX_CONFIG_BYTES, (file) => parsers.run(runConfigParser, file, repoId));
      return create(ImageConfigSchema, config);
    }),
  } satisfies Handlers<typeof Registry>;
}
