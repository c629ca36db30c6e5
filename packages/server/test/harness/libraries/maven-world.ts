/** Maven libraries of one test file, and clients of them that are closed at its end. */
import assert from "node:assert/strict";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { basic, createRegistryClient, type RegistryClient } from "../registry/registry-client.ts";
import type { World } from "../world.ts";
import { createMavenClient, type MavenClient } from "./maven-client.ts";

export function createMavenWorld(world: World) {
  const clients: RegistryClient[] = [];
  let groups = 0;
  function as(authorization: string | undefined, path: string): MavenClient {
    const client = createRegistryClient(world.baseUrl, authorization);
    clients.push(client);
    return createMavenClient(client, path);
  }
  /** Creates a library for one test. */
  async function library(): Promise<{ group: string; path: string; maven: MavenClient }> {
    const name = `java-${groups++}`;
    const path = `/libraries/java/my-org:${name}`;
    return { group: await world.group(world.orgUid, name), path, maven: as(basic("_token", world.token), path) };
  }
  const listed = async (group: string) => {
    const { artifacts } = await world.must(ArtifactsService.method.listArtifacts, { ecosystems: [Ecosystem.JAVA] });
    return artifacts.filter(({ uid }) => uid.startsWith(group));
  };
  return {
    as,
    library,
    listed,
    [Symbol.dispose]() {
      for (const client of clients) client[Symbol.dispose]();
    },
  };
}

export async function assertRefused(answer: Promise<{ status: number; body: Buffer }>, status: number, words: RegExp = /./): Promise<void> {
  const { status: actual, body } = await answer;
  assert.equal(actual, status, body.toString());
  assert.match(body.toString(), words);
}
