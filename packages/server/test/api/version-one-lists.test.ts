/** Tests that lists of version 1 are empty, and never an error, for what does not exist or may not be seen. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DescMethodUnary, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { answerOf } from "../harness/clients.ts";
import { operations } from "../harness/contract.ts";
import { describeWithWorld } from "../harness/world.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const DAY = "2026-01-02T00:00:00Z";

/** Further parameters of a list. */
const needed: Readonly<Record<string, JsonObject>> = {
  "platform.advisory.v1.SecurityAdvisory/ListResolvedVulnsReports": { imageRefs: [{ repo: "missing" }], from: DAY, to: DAY },
  "platform.libraries.v1.Artifacts/List": { ecosystems: ["PYTHON"], query: "missing" },
  "platform.libraries.v1.Artifacts/ListVersions": { id: "missing" },
  "platform.registry.v1.Vulnerabilities/ListVulnReports": { digest: DIGEST },
  "platform.registry.v1.Vulnerabilities/ListVulnCountReports": { repo: "missing", tag: "latest", from: DAY, to: DAY },
  "platform.registry.v1.Vulnerabilities/ListCumulativeVulnCountReports": { repo: "missing", tag: "latest", from: DAY, to: DAY },
};
/** Lists that have rows for each day, or for every place. */
const NEVER_EMPTY = ["ListResolvedVulnsReports", "ListAccepted"];
const PLACES = ["id", "group", "parent", "parent_id", "repo_id", "registry_id", "identity_provider_uidp"];

const lists = operations.filter(({ name, isServed }) => isServed && /^platform\.\w+\.v1\.\w+\/List/.test(name));

describeWithWorld("lists of version 1", (world) => {
  for (const { name, method, hasRest, isScoped } of lists) {
    test(`${name} answers nothing for a place that does not exist, or that the caller may not see`, async () => {
      const secret = await world.group(world.orgUid);
      const robot = await world.robot(await world.group(world.orgUid));
      const cases = [{ token: world.owner.token, uid: `${secret}/0123456789abcdef` }];
      // Without a right at a named place, the call is refused before it looks for anything.
      if (!isScoped) cases.push({ token: robot.token, uid: secret });
      for (const client of hasRest ? world.clients : [world.grpc])
        for (const { token, uid } of cases) {
          const reply = answerOf(await client.call(method, fromJson(method.input, requestFor(method, name, uid)), token));
          const rows = (reply as unknown as Record<string, unknown>)[
            method.output.fields.find(({ fieldKind }) => fieldKind === "list")?.localName ?? ""
          ];
          assert.ok(Array.isArray(rows));
          if (!NEVER_EMPTY.includes(method.name)) assert.deepEqual(rows, []);
        }
    });
  }
});

function requestFor({ input }: DescMethodUnary, name: string, uid: string): JsonObject {
  const places = input.fields.filter((field) => PLACES.includes(field.name)).map(({ jsonName }) => [jsonName, uid]);
  const uidp = input.field.uidp === undefined ? {} : { uidp: { childrenOf: uid } };
  return { ...Object.fromEntries(places), ...uidp, ...needed[name] };
}
