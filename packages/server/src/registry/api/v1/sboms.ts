/** SBOMs in version 1 of the API: those that are attached to images. Version 2 has none. */
import type { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { RawSbomSchema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { Sbom2Schema } from "@holt/api/gen/platform/tenant/v1/sboms_pb.ts";
import { JsonText } from "../../../api/call/call.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import { readSbomOf, type SbomCollaborators } from "../../sboms/find-sbom.ts";
import { parsedSbomParser, rawSbomParser } from "../../sboms/sbom-parsers.ts";

export function sboms(collaborators: SbomCollaborators) {
  return {
    getSbom: read(async ({ repoId, digest, arch }, { db }) => {
      const wanted = { repoUid: repoId, digest, architecture: arch, reference: "" };
      return new JsonText(Sbom2Schema, await readSbomOf(wanted, parsedSbomParser, db, collaborators));
    }),
    getRawSbom: read(async ({ repoId, digest, arch, reference }, { db }) => {
      const wanted = { repoUid: repoId, digest, architecture: arch, reference };
      return new JsonText(RawSbomSchema, await readSbomOf(wanted, rawSbomParser, db, collaborators));
    }),
  } satisfies Handlers<typeof Registry>;
}
