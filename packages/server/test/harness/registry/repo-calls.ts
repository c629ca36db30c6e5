/** Calls about repos, as their tests need them. */
import assert from "node:assert/strict";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type RepoSchema, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../../src/lib/errors.ts";
import { errorOf } from "../clients.ts";
import type { World } from "../world.ts";

type RepoInit = MessageInitShape<typeof RepoSchema>;

const { createRepo, updateRepo, getRepo } = ReposService.method;

/** @param group returns the group of created repos */
export function repoCalls(world: World, group: () => string) {
  const make = (repo: RepoInit, parent = group(), token?: string) => world.must(createRepo, { parent, repo }, token);
  const change = (repo: RepoInit, ...paths: string[]) =>
    world.must(updateRepo, { repo, ...(paths.length === 0 ? {} : { updateMask: { paths } }) });
  const get = (uid: string) => world.must(getRepo, { uid });
  /** Asks both clients and returns the one violation that both report. */
  async function violationOf(repo: RepoInit): Promise<unknown> {
    const found = [];
    for (const client of world.clients) {
      const { code, details } = errorOf(await client.call(createRepo, { parent: group(), repo }, world.owner.token));
      assert.equal(code, Code.INVALID_ARGUMENT);
      found.push(details.find((detail) => detail["@type"] === "type.googleapis.com/google.rpc.BadRequest")?.fieldViolations);
    }
    assert.deepEqual(found[0], found[1]);
    return found[0];
  }
  const assertViolation = async (repo: RepoInit, field: string, description: string) =>
    assert.deepEqual(await violationOf(repo), [{ field, description }]);

  return { make, change, get, violationOf, assertViolation };
}
