/** The catalogue of libraries in version 1 of the API, which knows more ecosystems than Holt serves. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  ArtifactListSchema,
  Artifacts,
  type ArtifactVersionFilter,
  ArtifactVersionListSchema,
  GetArtifactCountResponseSchema,
} from "@holt/api/gen/platform/libraries/v1/artifacts_pb.ts";
import { Ecosystem, EcosystemSchema } from "@holt/api/gen/platform/libraries/v1/entitlements_pb.ts";
import type { ListArtifactVersionsRequest } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { messageOf } from "../../api/call/call.ts";
import { implement, type ReadHandler, read, type ServiceImplementation } from "../../api/call/implement.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";
import { Code, HoltError, invalidArgument } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { isRemediatedMavenVersion } from "../java/maven-version.ts";

/** The largest number that a count of version 1 can hold. */
const MAX_COUNT = 2 ** 31 - 1;
const totalOf = ({ totalCount }: JsonObject) => Math.min(Number(totalCount ?? 0), MAX_COUNT);

function differencesFor(remediatedLabels: readonly string[]): Differences {
  const sourceOf = ({ version }: JsonObject) =>
    isRemediatedMavenVersion(version as string, remediatedLabels) ? "INTERNAL_REMEDIATED" : "INTERNAL";
  return {
    "platform.libraries.v1.ArtifactFilter": { absent: ["include_upstream"] },
    "platform.libraries.v1.ArtifactList": { renamed: { items: "artifacts" }, answered: { total_artifacts: totalOf } },
    "platform.libraries.v1.GetArtifactCountResponse.Count": { answered: { total_artifacts: totalOf } },
    "platform.libraries.v1.ArtifactVersionFilter": {
      absent: ["include_upstream"],
      received: ({ id }: ArtifactVersionFilter, request: ListArtifactVersionsRequest) => {
        request.artifactId = id;
      },
    },
    "platform.libraries.v1.ArtifactVersion": {
      absent: ["upstream_published_date"],
      answered: {
        id: (version) => `${parentOf(version.uid as string)}:${version.version as string}:${sourceOf(version)}`,
        source_type: (version) => `SOURCE_TYPE_${sourceOf(version)}`,
        malware_scanned: () => false,
        malware_malicious: () => false,
      },
    },
  };
}

const METHODS = { ListVersions: "ListArtifactVersions" };

/** The derived handlers, which all read. */
interface Derived {
  readonly list: ReadHandler<typeof Artifacts.method.list>;
  readonly listVersions: ReadHandler<typeof Artifacts.method.listVersions>;
  readonly getArtifactCount: ReadHandler<typeof Artifacts.method.getArtifactCount>;
}

export function artifactsServiceV1(artifacts: ServiceImplementation, remediatedLabels: readonly string[]) {
  const differences = differencesFor(remediatedLabels);
  const derived = deriveMethods(Artifacts, { services: [artifacts], kind: "Artifact", differences, methods: METHODS }) as Derived;
  return implement(
    Artifacts,
    {
      list: read(async (filter, call) => {
        const ecosystems = servedOf(filter.ecosystems);
        return ecosystems === "none" ? create(ArtifactListSchema) : derived.list.handle({ ...filter, ecosystems }, call);
      }),

      listVersions: read((filter, call) =>
        derived.listVersions.handle(filter, call).catch((error: unknown) => {
          if (error instanceof HoltError && error.code === Code.NOT_FOUND) return create(ArtifactVersionListSchema);
          throw error;
        }),
      ),

      getArtifactCount: read(async (request, call) => {
        const ecosystems = servedOf(request.ecosystems);
        const reply = ecosystems === "none" ? undefined : await derived.getArtifactCount.handle({ ...request, ecosystems }, call);
        const { counts } = reply === undefined ? create(GetArtifactCountResponseSchema) : messageOf(reply);
        const totals = new Map(counts.map(({ ecosystem, totalArtifacts }) => [ecosystem, totalArtifacts]));
        return create(GetArtifactCountResponseSchema, {
          counts: [...new Set(request.ecosystems)].map((ecosystem) => ({ ecosystem, totalArtifacts: totals.get(ecosystem) ?? 0 })),
        });
      }),
    },
    "Artifact",
  );
}

/** The ecosystems that Holt serves. There are no artifacts of the others that version 1 knows. */
function servedOf(ecosystems: Ecosystem[]): Ecosystem[] | "none" {
  if (ecosystems.some((each) => each === Ecosystem.UNKNOWN || EcosystemSchema.value[each] === undefined))
    throw invalidArgument("ecosystems", "must be ecosystems, such as PYTHON or JAVA");
  const served = ecosystems.filter((each) => each === Ecosystem.JAVA || each === Ecosystem.PYTHON);
  return served.length === 0 && ecosystems.length > 0 ? "none" : served;
}
