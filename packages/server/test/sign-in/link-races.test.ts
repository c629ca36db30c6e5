/** Role bindings of a person that are made at the moment at which the person is linked with an account. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { storeNames } from "../harness/harness.ts";
import { submitTo } from "../harness/sign-in/account-visitor.ts";
import { linking, uidOf } from "../harness/sign-in/linking.ts";
import { type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

const ROUNDS = 10;
const BINDINGS = 8;

for (const store of storeNames) {
  describe(`bindings that are made during a link, on ${store}`, () => {
    const world = {} as SignInWorld;
    const { allow, personUid, person, begin, throughAcme } = linking(world);
    before(async () => {
      Object.assign(world, await startSignInWorld({ store, hasOperator: false }));
      await allow(true);
    });
    after(() => world[Symbol.asyncDispose]());

    test("a binding that is made while its person is linked with an account is not lost", async () => {
      const parent = world.acme.uid;
      const roles = await Promise.all(Array.from({ length: BINDINGS }, () => world.role(parent, [Capability.CAP_IAM_ROLES_LIST])));
      for (let round = 0; round < ROUNDS; round++) {
        const name = `linked-${round}`;
        const holder = await person(`${name}@example.test`);
        await throughAcme(name);
        const visitor = world.visitor();
        const question = await begin(visitor, holder, name);
        const [done] = await Promise.all([
          submitTo(visitor, question, "/oauth/account/connect", { answer: "yes" }),
          ...roles.map((roleUid) =>
            world.must(RoleBindingsService.method.createRoleBinding, { parent, roleBinding: { identityUid: personUid(name), roleUid } }),
          ),
        ]);
        assert.match(done.text, /Your account is linked/);
        const people = [uidOf(holder.token), personUid(name)];
        const rows = world.store.reader.selectFrom("role_binding").select("role_uid").where("identity_uid", "in", people);
        const bound = new Set((await rows.execute()).map(({ role_uid }) => role_uid));
        assert.deepEqual(
          roles.filter((role) => !bound.has(role)),
          [],
        );
      }
    });
  });
}
