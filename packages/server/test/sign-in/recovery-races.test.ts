/** Recovery links and codes that are made at the same moment, or while the rights of the person change. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { totpCode } from "../../src/iam/accounts/totp.ts";
import { storeNames } from "../harness/harness.ts";
import { createHolder, type Holder, nextCode, PASSWORD } from "../harness/sign-in/account-visitor.ts";
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

const ROUNDS = 20;
/** A code of an authenticator app is valid for this long. */
const TIME_STEP_MS = 30_000;
const RECOVER = AccountsService.method.createAccountRecovery;

for (const store of storeNames) {
  describe(`recovery links and codes that are made concurrently, on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store, hasOperator: false })));
    after(() => world[Symbol.asyncDispose]());

    const uidOf = ({ token }: Holder) => claimsOf(token).sub ?? "";

    test("only one of several recovery links that are made at the same moment is valid", async () => {
      const holder = await createHolder(world, "moment@example.test");
      for (let round = 0; round < ROUNDS; round++) {
        const links = await Promise.all([1, 2, 3].map(() => world.must(RECOVER, { uid: uidOf(holder) })));
        const pages = await Promise.all(links.map(({ url }) => world.visitor().visit(url)));
        assert.deepEqual(pages.map(({ status }) => status).toSorted(), [200, 404, 404]);
      }
    });

    test("no link of an administrator is left when the rights of the person grow at that moment", async () => {
      const capabilities = [Capability.CAP_IAM_ACCOUNTS_RECOVER, Capability.CAP_IAM_GROUPS_LIST];
      const helper = await createHolder(world, "helper@example.test");
      const helping = { identityUid: uidOf(helper), roleUid: await world.role(world.orgUid, capabilities) };
      await world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding: helping });
      const holder = await createHolder(world, "growing@example.test");
      const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_DELETE]);
      const roleBinding = { identityUid: uidOf(holder), roleUid };
      for (let round = 0; round < ROUNDS; round++) {
        const links = [1, 2, 3].map(() => world.rest.call(RECOVER, { uid: uidOf(holder) }, helper.token));
        const [binding, ...made] = await Promise.all([
          world.must(RoleBindingsService.method.createRoleBinding, { parent: world.orgUid, roleBinding }),
          ...links,
        ]);
        for (const link of made) if (link.ok) assert.equal((await world.visitor().visit(link.value.url)).status, 404);
        await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding.uid });
      }
    });

    test("recovery codes that are made at the same moment replace each other", async () => {
      const holder = await createHolder(world, "codes@example.test");
      const { regenerateRecoveryCodes, getOwnAccount } = AccountsService.method;
      for (let round = 0; round < ROUNDS; round++) {
        const first = nextCode(world, holder.secret);
        world.clock.advance(TIME_STEP_MS);
        const codes = [first, totpCode(holder.secret, world.clock.now())];
        await Promise.all(codes.map((code) => world.rest.call(regenerateRecoveryCodes, { password: PASSWORD, code }, holder.token)));
        assert.equal((await world.must(getOwnAccount, {}, holder.token)).recoveryCodesLeft, 10);
      }
    });
  });
}
