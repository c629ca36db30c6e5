/** Maps the rights of pull tokens to capabilities. No other file does. */
import { PullToken_Right as Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";

/** Capabilities of a right, as bit sets. */
interface RightCapabilities {
  /** A caller without them cannot give the right. */
  readonly required: bigint;
  /** Given as far as the caller holds them: they list contents, or create repositories and folders. */
  readonly optional: bigint;
}

const imagesPull = [Capability.CAP_MANIFEST_LIST, Capability.CAP_REPO_BLOBS_GET];
const imagesList = [Capability.CAP_REPO_LIST, Capability.CAP_TAG_LIST, Capability.CAP_REFERRERS_LIST];

const CAPABILITIES: ReadonlyMap<Right, RightCapabilities> = new Map([
  [Right.IMAGES_PULL, define(imagesPull, imagesList)],
  [
    Right.IMAGES_PUSH,
    define(
      [...imagesPull, Capability.CAP_MANIFEST_CREATE, Capability.CAP_TAG_CREATE],
      [...imagesList, Capability.CAP_REPO_CREATE, Capability.CAP_IAM_GROUPS_CREATE],
    ),
  ],
  [Right.PYTHON_PULL, define([Capability.CAP_LIBRARIES_PYTHON_LIST])],
  [Right.PYTHON_PUSH, define([Capability.CAP_LIBRARIES_PYTHON_LIST, Capability.CAP_LIBRARIES_PYTHON_CREATE])],
  [Right.JAVA_PULL, define([Capability.CAP_LIBRARIES_JAVA_LIST])],
  [Right.JAVA_PUSH, define([Capability.CAP_LIBRARIES_JAVA_LIST, Capability.CAP_LIBRARIES_JAVA_CREATE])],
]);

function define(required: readonly Capability[], optional: readonly Capability[] = []): RightCapabilities {
  return { required: capabilitySet(required), optional: capabilitySet(optional) };
}

export function isKnownRight(right: Right): boolean {
  return CAPABILITIES.has(right);
}

export function isRightToImages(right: Right): boolean {
  return right === Right.IMAGES_PULL || right === Right.IMAGES_PUSH;
}

/** The capabilities of all the rights together. */
export function capabilitiesOfRights(rights: readonly Right[]): RightCapabilities {
  const sets = rights.map((right) => CAPABILITIES.get(right) ?? { required: 0n, optional: 0n });
  return {
    required: sets.reduce((all, { required }) => all | required, 0n),
    optional: sets.reduce((all, { optional }) => all | optional, 0n),
  };
}
