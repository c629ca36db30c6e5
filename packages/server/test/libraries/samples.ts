/** Samples of libraries for the conformance suites. */
import { ArtifactsService } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import type { OperationSample } from "../harness/samples.ts";

export const operationSamples: readonly OperationSample[] = [
  // The artifact does not exist.
  { method: ArtifactsService.method.listArtifactVersions, answer: Code.NOT_FOUND },
];
