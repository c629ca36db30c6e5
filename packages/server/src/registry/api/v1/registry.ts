/** Assembles the registry's service of version 1 from the handlers of its topics. */
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { implement } from "../../../api/call/implement.ts";
import { type ImageContentCollaborators, imageContents } from "./image-contents.ts";
import { sboms } from "./sboms.ts";

export function registryV1(collaborators: ImageContentCollaborators) {
  return implement(Registry, { ...imageContents(collaborators), ...sboms(collaborators) });
}
