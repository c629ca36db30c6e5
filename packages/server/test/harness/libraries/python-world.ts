/** Python libraries of one test file, and clients of them that are closed at its end. */
import assert from "node:assert/strict";
import { type Answer, basic, createRegistryClient, type RegistryClient } from "../registry/registry-client.ts";
import type { World } from "../world.ts";

export const JSON_TYPE = "application/vnd.pypi.simple.v1+json";

/** The page of a project in JSON. */
export interface PythonPage {
  readonly meta: object;
  readonly name: string;
  readonly versions: string[];
  readonly files: (Record<string, unknown> & { filename: string; url: string; yanked: unknown })[];
}

export function createPythonWorld(world: World) {
  const clients: RegistryClient[] = [];
  let groups = 0;
  function as(authorization: string | undefined): RegistryClient {
    const client = createRegistryClient(world.baseUrl, authorization);
    clients.push(client);
    return client;
  }
  /** Creates a library for one test. Returns the uid of its group and its path. */
  async function library(): Promise<{ group: string; path: string }> {
    const name = `python-${groups++}`;
    return { group: await world.group(world.orgUid, name), path: `/libraries/python/my-org:${name}` };
  }
  return {
    as,
    owner: () => as(basic("_token", world.token)),
    library,
    [Symbol.dispose]() {
      for (const client of clients) client[Symbol.dispose]();
    },
  };
}

export function ownerOf(path: string): string {
  return path.split("/").at(-1) ?? "";
}

export async function pageOf(client: RegistryClient, path: string, project = "demo"): Promise<PythonPage> {
  const answer = await client.send("GET", `${path}/simple/${project}/`, { headers: { accept: JSON_TYPE } });
  must(answer);
  return answer.json();
}

export function fileUrl(path: string, project: string, { url }: { readonly url: string }): string {
  return new URL(url, `http://holt.test${path}/simple/${project}/`).pathname;
}

export function must(answer: Answer, status = 200): void {
  assert.equal(answer.status, status, answer.body.toString());
}
