/** Python projects of one test file: publishes files with attestations, and reads the pages of projects. */

import { type Answer, basic, type RegistryClient } from "../registry/registry-client.ts";
import type { World } from "../world.ts";
import { type PythonFile, upload } from "./python-packages.ts";
import { createPythonWorld, JSON_TYPE, must, ownerOf } from "./python-world.ts";

export interface ProjectPage {
  readonly meta: Record<string, unknown>;
  readonly "project-status": unknown;
  readonly "alternate-locations"?: unknown;
  readonly versions: string[];
  readonly files: (Record<string, unknown> & { filename: string; url: string; provenance?: string })[];
}

export function createPythonProjects(world: World) {
  const python = createPythonWorld(world);
  const get = (path: string, headers: Record<string, string> = {}) => python.owner().send("GET", path, { headers });
  return {
    as: (token: string) => python.as(basic("_token", token)),
    owner: python.owner,
    get,
    async library(): Promise<{ group: string; name: string; path: string }> {
      const { group, path } = await python.library();
      return { group, path, name: ownerOf(path) };
    },
    async publish(name: string, file: PythonFile, attestations?: unknown, client: RegistryClient = python.owner()): Promise<Answer> {
      return upload(client, name, file, attestations === undefined ? {} : { attestations: JSON.stringify(attestations) });
    },
    async pageOf(path: string, project = "demo"): Promise<ProjectPage> {
      const answer = await get(`${path}/simple/${project}/`, { accept: JSON_TYPE });
      must(answer);
      return answer.json();
    },
    htmlOf: async (path: string) => (await get(`${path}/simple/demo/`, { accept: "text/html" })).body.toString(),
    [Symbol.dispose]: () => python[Symbol.dispose](),
  };
}
