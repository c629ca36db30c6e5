/** Samples of libraries for the conformance suites. */
import { LibraryArtifactsService } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import { PythonProjectsService } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { Artifacts } from "@holt/api/gen/platform/libraries/v1/artifacts_pb.ts";
import { ArtifactsService } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { upload, wheel } from "../harness/libraries/python-packages.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import type { OperationSample } from "../harness/samples.ts";
import type { World } from "../harness/world.ts";

const { listPythonAttestations, listPythonProjects, updatePythonProject } = PythonProjectsService.method;

/** Publishes a project in a library of its own. @returns the uids of the library's group and of the project */
async function publishProject(world: World): Promise<{ group: string; uid: string }> {
  const group = await world.group(world.orgUid);
  using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
  const owner = group.split("/").join(":");
  const { status, body } = await upload(client, owner, wheel());
  if (status !== 200) throw new Error(body.toString());
  const { pythonProjects } = await world.must(listPythonProjects, { uidp: { childrenOf: group } });
  return { group, uid: pythonProjects[0]?.uid ?? "" };
}

export const operationSamples: readonly OperationSample[] = [
  // The artifact does not exist.
  { method: ArtifactsService.method.listArtifactVersions, answer: Code.NOT_FOUND },
  // The project does not exist.
  { method: listPythonAttestations, answer: Code.NOT_FOUND },
  // The library does not exist.
  { method: LibraryArtifactsService.method.getLibraryArtifact, answer: Code.NOT_FOUND },
  { method: LibraryArtifactsService.method.listLibraryVersions, answer: Code.NOT_FOUND },
  { method: LibraryArtifactsService.method.listLibraryFiles, answer: Code.NOT_FOUND },
  // The request names no ecosystem.
  { method: Artifacts.method.list, answer: Code.INVALID_ARGUMENT },
  { method: Artifacts.method.getArtifactCount, answer: Code.INVALID_ARGUMENT },
  {
    method: updatePythonProject,
    event: {
      async succeeding(world) {
        const { group, uid } = await publishProject(world);
        return {
          request: { python_project: { uid, status: "STATUS_ARCHIVED" } },
          subject: () => uid,
          group: () => group,
        };
      },
      failing: async (world) => ({ python_project: { uid: (await publishProject(world)).uid, tracks: ["no URL"] } }),
    },
  },
];
