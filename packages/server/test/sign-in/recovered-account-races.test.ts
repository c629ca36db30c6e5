/** Sign-ins that follow the recovery of an account, which changes again at the moment of its recovery. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { storeNames } from "../harness/harness.ts";
import { createHolder, nextCode, secretOf, submitTo } from "../harness/sign-in/account-visitor.ts";
import { claimsOf, type SignInWorld, startSignInWorld } from "../harness/sign-in/sign-in-world.ts";

const ROUNDS = 10;

for (const store of storeNames) {
  describe(`accounts that change while they are recovered, on ${store}`, () => {
    const world = {} as SignInWorld;
    before(async () => void Object.assign(world, await startSignInWorld({ store, hasOperator: false })));
    after(() => world[Symbol.asyncDispose]());

    /** @returns changes the account as soon as it has another password than now */
    async function changeAfterNextPassword(identityUid: string): Promise<() => Promise<void>> {
      const account = world.store.reader.selectFrom("local_account").select("password_hash").where("identity_uid", "=", identityUid);
      const { password_hash } = await account.executeTakeFirstOrThrow();
      const change = () =>
        world.store.transaction((db) =>
          db
            .updateTable("local_account")
            .set({ update_time: "2999-01-01T00:00:00.000Z" })
            .where("identity_uid", "=", identityUid)
            .where("password_hash", "<>", password_hash)
            .executeTakeFirst(),
        );
      return async () => {
        while ((await change()).numUpdatedRows === 0n);
      };
    }

    test("a recovery begins no session if the account changes again at that moment", async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await createHolder(world, `recovered-${round}@example.test`);
        const identityUid = claimsOf(holder.token).sub ?? "";
        const link = await world.must(AccountsService.method.createAccountRecovery, { uid: identityUid, resetSecondFactor: true });
        const visitor = world.visitor();
        const app = await submitTo(visitor, await visitor.visit(link.url), "/oauth/account/set-up", { password: "another long password" });
        const code = nextCode(world, secretOf(app));
        const change = await changeAfterNextPassword(identityUid);
        const [codes] = await Promise.all([submitTo(visitor, app, "/oauth/account/app", { code }), change()]);
        assert.equal((await submitTo(visitor, codes, "/oauth/account/continue")).status, 400);
      }
    });
  });
}
