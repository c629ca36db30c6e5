/** Samples for the conformance suites: repos and tags. */

import { generateKeyPairSync } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { EndOfLifeService } from "@holt/api/gen/holt/v1/end_of_life_pb.ts";
import { PullRecordingsService } from "@holt/api/gen/holt/v1/pull_recordings_pb.ts";
import { SignatureKeysService } from "@holt/api/gen/holt/v1/signature_keys_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { parentOf, rootOf } from "../../src/lib/uid.ts";
import { repos, tags } from "../../src/registry/resources.ts";
import { signatureKeys } from "../../src/registry/signatures/signature-key.ts";
import { textOf } from "../harness/json.ts";
import {
  defineSample,
  type EventSample,
  inGroup,
  type OperationSample,
  type ParentSample,
  type ResourceSample,
} from "../harness/samples.ts";
import type { VersionOneSample } from "../harness/samples-v1.ts";
import type { World } from "../harness/world.ts";

const digestOf = (character: string) => `sha256:${character.repeat(64)}`;
const overlayWith = (word: string) => ({
  contents: { packages: [word], runtimeRepositories: [], runtimeKeyring: [] },
  environment: { TEXT: word },
  annotations: { "com.example.text": word },
});

function pemOf(namedCurve: string): string {
  return generateKeyPairSync("ec", { namedCurve }).publicKey.export({ type: "spki", format: "pem" }) as string;
}

const firstKey = pemOf("P-256");
const secondKey = pemOf("P-384");

async function createRepo(world: World, parent: string, name: string): Promise<string> {
  return (await world.must(ReposService.method.createRepo, { parent, repo: { name } })).uid;
}

async function createSource(world: World, group: string, name: string): Promise<string> {
  return createRepo(world, await world.group(group, "sources"), name);
}

const inRepo: ParentSample = {
  kind: "Repo",
  collection: "/registry/v2/repos",
  onlyInOrganizations: false,
  create: createRepo,
  groupOf: parentOf,
};

const repoV1: VersionOneSample = {
  service: Registry,
  body: ({ catalogTier = "", ...rest }) => ({
    ...rest,
    ...(catalogTier !== "" && { catalogTier: textOf(catalogTier).replace("CATALOG_TIER_", "") }),
  }),
};

let recordings = 0;

export const resourceSamples: readonly ResourceSample[] = [
  defineSample(repos, ReposService, {
    title: "a repo",
    v1: repoV1,
    parent: inGroup,
    capabilityNoun: "repo",
    sharesNames: false,
    body: async (_world, _group, name) => ({
      name,
      description: "An image of “é”, <b> & \\ too.",
      catalogTier: "CATALOG_TIER_FIPS",
      bundles: ["fips", "base", "fips"],
      aliases: ["b/image:1", "a:2"],
      activeTags: ["latest"],
      customOverlay: overlayWith("curl"),
    }),
    change: async () => ({
      name: "renamed",
      description: "",
      catalogTier: "CATALOG_TIER_BASE",
      bundles: ["ai"],
      aliases: [],
      activeTags: ["1.0", "latest"],
      customOverlay: overlayWith("wget"),
    }),
  }),
  defineSample(repos, ReposService, {
    title: "a repo that is synced from another",
    v1: repoV1,
    ownFields: ["name", "source"],
    parent: inGroup,
    capabilityNoun: "repo",
    sharesNames: false,
    body: async (world, group, name) => ({ name, description: "", sync_config: { source: await createSource(world, group, name) } }),
    change: async (world, group) => ({
      name: "renamed",
      description: "Another source",
      sync_config: { source: await createSource(world, group, "other"), amazon: "eu-west-1" },
    }),
  }),
  defineSample(tags, TagsService, {
    title: "a tag",
    v1: { service: Registry, body: (body) => body },
    parent: inRepo,
    capabilityNoun: "tag",
    sharesNames: false,
    body: async (_world, _repo, name) => ({ name: name.replaceAll(" ", ""), digest: digestOf("a"), bundles: ["base"] }),
    change: async () => ({ digest: digestOf("b"), deprecated: true, bundles: [] }),
    smallChange: { deprecated: true },
    // Subscriptions belong to groups, and a repo is not a group.
    eventGroup: rootOf,
  }),
  defineSample(signatureKeys, SignatureKeysService, {
    title: "a signature key",
    parent: inGroup,
    capabilityNoun: "policies.policy",
    sharesNames: false,
    body: async (_world, _group, name) => ({ name, description: "Signs “é” & <b>.", publicKey: firstKey }),
    change: async () => ({ name: "renamed", description: "", publicKey: secondKey }),
  }),
];

const MISSING = "0123456789abcdef";

/** Changes of a repo in version 1. */
function repoEventV1(request: (id: string) => JsonObject): EventSample {
  return {
    succeeding: async (world) => {
      const id = await createRepo(world, await world.group(world.orgUid), "before");
      return { request: request(id), subject: () => id, group: () => parentOf(id) };
    },
    failing: async (world) => request(`${world.orgUid}/${MISSING}`),
  };
}

/** Changes of a tag in version 1. */
function tagEventV1(request: (id: string) => JsonObject): EventSample {
  return {
    succeeding: async (world) => {
      const id = await createTag(world);
      return { request: request(id), subject: () => id, group: () => rootOf(id) };
    },
    failing: async (world) => request(`${world.orgUid}/${MISSING}`),
  };
}

async function createTag(world: World): Promise<string> {
  const parent = await createRepo(world, await world.group(world.orgUid), "before");
  return (await world.must(TagsService.method.createTag, { parent, tag: { name: "before", digest: digestOf("a") } })).uid;
}

const idOf = (answer: JsonObject) => textOf(answer.id);

export const operationSamples: readonly OperationSample[] = [
  // Lists of version 1 are empty for unknown ids.
  { method: Registry.method.listChartsByImageRepo, answer: 0 },
  { method: Registry.method.listManifestMetadata, answer: 0 },
  { method: Registry.method.getPackageVersionMetadata, answer: Code.NOT_FOUND },
  {
    method: PullRecordingsService.method.updatePullRecording,
    event: {
      succeeding: async (world) => {
        const uid = await world.group("", `recording-${recordings++}`);
        return { request: { pull_recording: { uid, recording: "RECORDING_OFF" } }, subject: () => uid, group: () => uid };
      },
      failing: async (world) => ({ pull_recording: { uid: await world.group(world.orgUid), recording: "RECORDING_OFF" } }),
    },
  },
  {
    method: ReposService.method.updateRepoReadme,
    event: {
      succeeding: async (world) => {
        const uid = await createRepo(world, await world.group(world.orgUid), "before");
        return {
          request: { repoReadme: { uid, content: "# Readme" } },
          subject: (answer) => textOf(answer.uid),
          group: (answer) => parentOf(textOf(answer.uid)),
        };
      },
      failing: async (world) => ({ repoReadme: { uid: `${world.orgUid}/0123456789abcdef`, content: "text" } }),
    },
  },
  {
    method: Registry.method.createRepo,
    event: {
      succeeding: async (world) => {
        const parentId = await world.group(world.orgUid);
        return { request: { parentId, repo: { name: "repo", readme: "# Readme" } }, subject: idOf, group: () => parentId };
      },
      failing: async (world) => ({ parentId: world.orgUid, repo: {} }),
    },
  },
  { method: Registry.method.updateRepo, event: repoEventV1((id) => ({ id, name: "after", readme: "# Readme" })) },
  { method: Registry.method.deleteRepo, event: repoEventV1((id) => ({ id })) },
  {
    method: Registry.method.createTag,
    event: {
      succeeding: async (world) => {
        const repoId = await createRepo(world, await world.group(world.orgUid), "before");
        return { request: { repoId, tag: { name: "latest" } }, subject: idOf, group: () => rootOf(repoId) };
      },
      failing: async (world) => ({ repoId: `${world.orgUid}/${MISSING}`, tag: { name: "latest" } }),
    },
  },
  { method: Registry.method.updateTag, event: tagEventV1((id) => ({ id, deprecated: true })) },
  { method: Registry.method.deleteTag, event: tagEventV1((id) => ({ id })) },
  {
    method: EndOfLifeService.method.updateEndOfLife,
    event: {
      succeeding: async (world) => {
        const uid = await createTag(world);
        return { request: { endOfLife: { uid, mainPackageName: "python" } }, subject: () => uid, group: () => rootOf(uid) };
      },
      failing: async (world) => ({ endOfLife: { uid: `${world.orgUid}/${MISSING}` } }),
    },
  },
  { method: Registry.method.getRepoCountBySource, answer: 0 },
  { method: Registry.method.listTagHistory, answer: 0 },
  { method: Registry.method.getRepoTagsSummary, answer: 0 },
  { method: Registry.method.getUpdateStatus, answer: 0 },
  { method: Registry.method.getManifestDigestCount, answer: 0 },
  { method: Registry.method.listSyncStatuses, answer: 0 },
  { method: Registry.method.createDeployment, answer: Code.NOT_FOUND },
  { method: Registry.method.getDeployment, answer: 0 },
  { method: Registry.method.getRegistrySettings, answer: 0 },
  { method: Registry.method.updateRegistrySettings, answer: 0 },
];
