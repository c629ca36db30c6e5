/** Concurrent writes to IAM resources lose nothing and contradict nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { uidFromText } from "../../src/lib/uid.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const ROUNDS = 15;

describeWithWorld("concurrent writes to IAM resources", (world) => {
  const exists = async (path: string) => (await world.raw("GET", path)).status === 200;

  test("a role that is deleted while it is bound leaves no binding without its role", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const group = await world.group(world.orgUid);
      const roleUid = await world.role(group, [Capability.CAP_REPO_LIST]);
      const [deleted, bound] = await Promise.all([
        world.raw("DELETE", `/iam/v2/roles/${roleUid}`),
        world.raw("POST", `/iam/v2/roleBindings/${group}`, { identityUid: uidFromText("somebody"), roleUid }),
      ]);
      assert.ok(bound.status === 200 || bound.status === 404, bound.text);
      assert.equal(deleted.status, bound.status === 200 ? 400 : 200, deleted.text);
      assert.equal(await exists(`/iam/v2/roles/${roleUid}`), bound.status === 200);
    }
  });

  test("one of several equal bindings is created, and one of several organizations with one name", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const group = await world.group(world.orgUid);
      const binding = { identityUid: uidFromText("somebody"), roleUid: await builtInRole(world, "viewer") };
      const organization = { name: `org ${round}`, verified: true, kind: "ORG_KIND_DEV" };
      for (const [path, body] of [[`/iam/v2/roleBindings/${group}`, binding] as const, ["/iam/v2/groups", organization] as const]) {
        const answers = await Promise.all([1, 2, 3].map(() => world.raw("POST", path, body)));
        assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
        if (body !== binding) continue;
        // A refusal names the binding that exists, or none.
        const winner = textOf(parse(answers.find(({ status }) => status === 200)?.text ?? "").uid);
        for (const answer of answers.filter(({ status }) => status === 409))
          assert.ok(["", winner, undefined].includes(assertRefused(answer, Code.ALREADY_EXISTS).details[1]?.resourceName), answer.text);
      }
    }
  });

  test("concurrent updates and deletions of one resource are all applied, and counts stay right", async () => {
    const { uid } = parse((await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "robot", servicePrincipal: 1 })).text);
    const uri = `/iam/v2/identities/${uid}`;
    for (let round = 0; round < ROUNDS; round++) {
      const [name, description, company] = ["name", "description", "company"].map((field) => `${field} ${round}`);
      const answers = await Promise.all([{ name }, { description }, { company }].map((body) => world.raw("PATCH", uri, body as never)));
      assert.ok(answers.every(({ status }) => status === 200));
      const left = parse((await world.raw("GET", uri)).text);
      assert.deepEqual([left.name, left.description, left.company], [name, description, company]);
    }
    const group = await world.group(world.orgUid);
    const made = await Promise.all(Array.from({ length: 20 }, () => world.group(group)));
    await Promise.all(made.slice(0, 7).flatMap((child) => [1, 2].map(() => world.raw("DELETE", `/iam/v2/groups/${child}`))));
    const { totalCount } = parse((await world.raw("GET", `/iam/v2/groups?uidp.childrenOf=${group}`)).text);
    assert.equal(totalCount, "13");
  });

  test("the first changes of a user's metadata are all kept", async () => {
    const [company, jobTitle] = ["Acme", "tester"];
    for (let round = 0; round < ROUNDS; round++) {
      const { token } = await world.user();
      const update = (identityMetadata: Record<string, unknown>) =>
        world.raw("PATCH", "/iam/v2/identities:updateIdentityMetadata", { identityMetadata }, token);
      const answers = await Promise.all([update({ company }), update({ jobTitle }), update({ updatesOptIn: true })]);
      for (const { status, text } of answers) assert.equal(status, 200, text);
      const left = parse((await update({})).text);
      assert.deepEqual([left.company, left.jobTitle, left.updatesOptIn], [company, jobTitle, true]);
    }
  });

  test("only one of several organizations with one name can publish content, even if one takes the name at that moment", async () => {
    const organization = async (name: string) => textOf(parse((await world.raw("POST", "/iam/v2/groups", { name })).text).uid);
    const publish = (uid: string) => world.raw("POST", `/holt/v1/publicContent/${uid}`, { kinds: ["KIND_IMAGES"] });
    for (let round = 0; round < ROUNDS; round++) {
      const uids = await Promise.all([1, 2, 3].map(() => organization(`public ${round}`)));
      const published = await Promise.all(uids.map(publish));
      assert.deepEqual(published.map(({ status }) => status).toSorted(), [200, 400, 400]);
      const others = await Promise.all([1, 2, 3].map((i) => organization(`other ${round} ${i}`)));
      for (const uid of others) assert.equal((await publish(uid)).status, 200);
      const renamed = await Promise.all(others.map((uid) => world.raw("PATCH", `/iam/v2/groups/${uid}`, { name: `taken ${round}` })));
      assert.deepEqual(renamed.map(({ status }) => status).toSorted(), [200, 400, 400]);
    }
  });

  test("calls of its owner at the same moment leave nothing of a deleted account", async () => {
    const stranger = await world.user();
    const { uid: org } = parse((await world.raw("POST", "/iam/v2/groups", { name: "host" }, stranger.token)).text);
    for (let round = 0; round < ROUNDS; round++) {
      const subject = `leaving ${round}`;
      const { uid, token } = await world.user(subject);
      const binding = { identityUid: uid, roleUid: await builtInRole(world, "viewer") };
      assert.equal((await world.raw("POST", `/iam/v2/roleBindings/${org}`, binding, stranger.token)).status, 200);
      const deletion = world.raw("DELETE", `/auth/v1/delete/${uid}`, undefined, token);
      let isDeleted = false;
      const writing = [1, 2, 3, 4].map(async (number) => {
        while (!isDeleted) {
          await world.raw("PATCH", "/iam/v2/identities:updateIdentityMetadata", { company: `Acme ${number}` }, token);
          await world.raw("POST", `/holt/v1/memberships/${org}:${number % 2 === 0 ? "accept" : "leave"}`, {}, token);
        }
      });
      const { status, text } = await deletion.finally(() => {
        isDeleted = true;
      });
      assert.equal(status, 200, text);
      await Promise.all(writing);
      const again = await world.user(subject);
      const { memberships = [] } = parse((await world.raw("GET", "/holt/v1/memberships", undefined, again.token)).text);
      assert.deepEqual(memberships, []);
      const metadata = parse((await world.raw("PATCH", "/iam/v2/identities:updateIdentityMetadata", {}, again.token)).text);
      assert.equal(metadata.company, "");
    }
  });
});
