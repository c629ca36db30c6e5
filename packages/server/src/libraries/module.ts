/** Libraries: Python and Java packages below `/libraries/`, and their catalogue in the API. */
import type { RequiredTerms } from "../api/call/required-terms.ts";
import type { Platform, Served } from "../api/domain.ts";
import { createBlobRemoval } from "../blobs/removal.ts";
import { loadOnFirstRequest } from "../http/lazy-handler.ts";
import type { Iam } from "../iam/iam.ts";
import { artifactsService } from "./api/artifacts.ts";
import { libraryArtifactsService } from "./api/library-artifacts.ts";
import { pythonProjectsService } from "./api/python-projects.ts";
import { createStaging } from "./stage.ts";
import { artifactsServiceV1 } from "./v1/artifacts.ts";

export interface LibrarySettings {
  readonly requiredTerms: RequiredTerms;
}

export function startLibraries(platform: Platform, iam: Iam, settings: LibrarySettings): Served {
  const { store, blobs, names, clock, log, memory, limits, frame, parsers } = platform;
  const { blobReferences: references } = platform;
  const staging = createStaging({ blobs, removal: createBlobRemoval({ store, blobs, references }) });
  const parts = {
    store,
    blobs,
    names,
    clock,
    memory,
    staging,
    parsers,
    blobReferences: references,
    requiredTerms: settings.requiredTerms,
    transferIdleMs: limits.transferIdleMs,
  };
  const serve = loadOnFirstRequest(async () => {
    const [{ createLibrariesHandler }, { servePython }, { serveJava }] = await Promise.all([
      import("./http/libraries-handler.ts"),
      import("./python/http/python-protocol.ts"),
      import("./java/http/java-protocol.ts"),
    ]);
    const protocols = new Map([
      ["python", servePython],
      ["java", serveJava],
    ]);
    return createLibrariesHandler({ frame, parts, authenticator: iam.contentLogin, protocols });
  }, log);
  const artifacts = artifactsService(platform);
  return {
    services: [
      artifacts,
      artifactsServiceV1(artifacts, names.profile.remediatedLabels),
      pythonProjectsService(platform),
      libraryArtifactsService(platform),
    ],
    // `/libraries/v2` is the API's.
    mounts: [{ paths: ["/libraries/python/*", "/libraries/java/*"], serve }],
  };
}
