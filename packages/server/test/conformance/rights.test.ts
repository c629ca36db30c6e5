/** Each verb on each resource needs exactly its own capability, and a caller without it learns nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson } from "@bufbuild/protobuf";
import { capabilityByName, isInternalOnly } from "@holt/api";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { codeOf, errorOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import {
  asRead,
  collectionOf,
  createParent,
  createResource,
  domainOf,
  fieldOf,
  hasMethod,
  methodOf,
  parentForOneMore,
  type ResourceSample,
} from "../harness/samples.ts";
import { describeWithSamples, resources } from "./samples.ts";

const VERBS = ["Get", "Update", "Delete"] as const;

describeWithSamples("rights to resources", (world) => {
  for (const sample of resources) {
    test(`each verb on ${sample.title} needs its own capability and no other`, async () => {
      const group = await world.group(world.orgUid);
      const parents = await createParent(world, sample, group);
      for (const verb of verbsOf(sample)) {
        const parent = await parentForOneMore(world, sample, parents);
        const capability = capabilityFor(sample, verb);
        const others = [...capabilityByName.values()].filter(
          (each) => each !== capability && each !== Capability.CAP_INTERNAL && !isInternalOnly(each),
        );
        const { text } = await createResource(world, sample, parent, verb.toLowerCase());
        const created = parse(asRead(sample, text));
        const uid = textOf(created.uid);
        const needed = [capability, ...(verb === "Update" ? await sample.neededToUpdate(world) : [])];
        const holders = sample.parent.groupOf(parent);
        const able = await world.robot(holders, needed);
        const unable = await world.robot(holders, others);
        for (const client of world.clients) {
          const outcome = await client.call(methodOf(sample, verb), requestFor(sample, verb, uid), unable.token);
          const { code, details } = errorOf(outcome);
          assert.equal(code, Code.PERMISSION_DENIED);
          assert.deepEqual(details, [
            {
              "@type": "type.googleapis.com/google.rpc.ErrorInfo",
              reason: "PERMISSION_DENIED",
              domain: `${domainOf(sample)}.holt.dev`,
              metadata: { capability: nameOf(capability), resource: uid },
            },
          ]);
        }
        const before = (await world.raw("GET", `${collectionOf(sample)}/${uid}`)).text;
        assert.deepEqual(parse(before), created);
        const outcome = await world.rest.call(methodOf(sample, verb), requestFor(sample, verb, uid), able.token);
        assert.equal(codeOf(outcome), 0, outcome.ok ? "" : outcome.error.message);
      }
    });

    test(`a caller without rights cannot tell whether ${sample.title} exists`, async () => {
      const place = await createParent(world, sample, await world.group(world.orgUid));
      const stranger = await world.user();
      const existing = textOf(parse((await createResource(world, sample, place, "there")).text).uid);
      for (const client of world.clients) {
        for (const verb of verbsOf(sample)) {
          const refusalOf = async (uid: string) => {
            const error = errorOf(await client.call(methodOf(sample, verb), requestFor(sample, verb, uid), stranger.token));
            return JSON.parse(JSON.stringify(error).replaceAll(uid, "UID"));
          };
          const refused = await refusalOf(existing);
          assert.equal(refused.code, Code.PERMISSION_DENIED);
          for (const uid of [newUid(place), newUid(newUid(place)), newUid(newUid(world.orgUid))])
            assert.deepEqual(await refusalOf(uid), refused);
          // Outside of all organizations there is nothing to hide.
          for (const uid of [newUid(""), newUid(newUid(""))]) assert.equal((await refusalOf(uid)).code, Code.NOT_FOUND);
        }
        const createIn = async (parent: string) => {
          const request = fromJson(methodOf(sample, "Create").input, {
            parent,
            [fieldOf(sample)]: await sample.body(world, place, "new"),
          });
          const error = errorOf(await client.call(methodOf(sample, "Create"), request, stranger.token));
          return JSON.parse(JSON.stringify(error).replaceAll(parent, "UID"));
        };
        const refused = await createIn(place);
        assert.equal(refused.code, Code.PERMISSION_DENIED);
        assert.deepEqual(await createIn(newUid(place)), refused);
      }
    });
  }
});

function verbsOf(sample: ResourceSample) {
  return VERBS.filter((verb) => hasMethod(sample, verb));
}

function requestFor(sample: ResourceSample, verb: (typeof VERBS)[number], uid: string) {
  const { input } = methodOf(sample, verb);
  if (verb !== "Update") return fromJson(input, { uid });
  return fromJson(input, { [fieldOf(sample)]: { uid, ...sample.smallChange } });
}

/** The names of capabilities follow a pattern: Get needs the capability to list, and so on. */
function capabilityFor({ capabilityNoun }: ResourceSample, verb: (typeof VERBS)[number]): Capability {
  const capability = capabilityByName.get(`${capabilityNoun}.${{ Get: "list", Update: "update", Delete: "delete" }[verb]}`);
  assert.ok(capability);
  return capability;
}

function nameOf(wanted: Capability): string {
  return [...capabilityByName].find(([, capability]) => capability === wanted)?.[0] ?? "";
}
