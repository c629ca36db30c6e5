/** Requests of tests that write advisories with version 1 and read them with version 2. */
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { Advisories, type Advisory, type AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { World } from "../world.ts";

export type AdvisoryInit = MessageInitShape<typeof AdvisorySchema>;

export const base = { artifactType: "apk", artifactName: "openssl" };
export const fixed = { case: "fixed", value: { fixedVersion: "1.2-r0" } } as const;
export const later = { case: "fixed", value: { fixedVersion: "2" } } as const;

/** With every field that a client may write. */
export const full = {
  ...base,
  artifactArchitecture: "x86_64",
  componentName: "stdlib",
  componentType: "go-module",
  componentLocation: "/usr/bin/é",
  aliases: ["CVE-2024-0001", "GHSA-aaaa-bbbb-cccc", "CVE-2024-0001"],
  author: "“ann” <b> & \\",
  legacyAdvisoryID: "OLD-1",
} satisfies AdvisoryInit;

/** @param groupOf the group of advisories without another one */
export function createAdvisoryRequests(world: World, groupOf: () => string) {
  return {
    make: (advisory: AdvisoryInit = base, parentId = groupOf()): Promise<Advisory> =>
      world.must(Advisories.method.create, { parentId, advisory }),
    post: (advisory: object, parentId = groupOf()) => world.raw("POST", "/vulnerabilities/v1/advisories", { parentId, advisory }),
    put: (id: string, body: object) => world.raw("PUT", `/vulnerabilities/v1/advisories/${id}`, body),
    postEvent: (id: string, advisoryEvent: object) => world.raw("POST", `/vulnerabilities/v1/advisories/${id}/events`, { advisoryEvent }),
    get: async (uid: string) => JSON.parse((await world.raw("GET", `/vulnerabilities/v2/advisories/${uid}`)).text) as JsonObject,
  };
}
