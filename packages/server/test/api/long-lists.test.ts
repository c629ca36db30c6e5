/** Lists of version 1 have no pages: long ones are sent while they are read, or refused before anything is sent. */
import assert from "node:assert/strict";
import { get as httpGet, type IncomingMessage } from "node:http";
import { beforeEach, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Groups } from "@holt/api/gen/platform/iam/v1/groups_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { appendToCounts } from "../../src/db/resource-count.ts";
import { Code } from "../../src/lib/errors.ts";
import { errorOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld } from "../harness/world.ts";

const MIB = 1024 * 1024;
/** An answer that is collected does not fit. */
const limits = { answerBytesPerCaller: 4 * MIB, transfersPerCaller: 1 };
const GROUPS = 10_001;

describeWithWorld(
  "long lists of version 1",
  (world) => {
    let organization = "";
    beforeEach(async () => {
      organization = await world.group("", "large.example.com");
    });
    const path = () => `/iam/v1/groups?uidp.childrenOf=${organization}`;

    const uidsOf = (count: number) => Array.from({ length: count }, (_, i) => `${organization}/${i.toString(16).padStart(16, "0")}`);
    const insertGroups = async (count: number, description: string) => {
      const time = world.clock.now().toISOString();
      await world.store.transaction(async (db) => {
        const uids = uidsOf(count);
        for (let from = 0; from < count; from += 100) {
          const rows = uids.slice(from, from + 100).map((uid, i) => {
            const name = `group ${from + i}`;
            const body = JSON.stringify({ uid, name, description });
            return { uid, parent: organization, name, create_time: time, update_time: time, body, verified: 0 };
          });
          await db.insertInto("group").values(rows).execute();
        }
        await appendToCounts(db, "group", uids, 1);
      });
    };
    const insertReadmes = async (count: number, bytes: number) => {
      for (let i = 0; i < count; i++) {
        const { uid } = await world.must(ReposService.method.createRepo, { parent: organization, repo: { name: `repo-${i}` } });
        await world.store.transaction((db) =>
          db
            .insertInto("repo_readme")
            .values({ uid, content: "x".repeat(bytes) })
            .execute(),
        );
      }
    };
    const begin = (target: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { authorization: `Bearer ${world.owner.token}` };
        httpGet(new URL(target, world.baseUrl), { headers, agent: false }, resolve).on("error", reject);
      });

    test("a list that is larger than the caller's unread bytes may be is sent completely, in chunks", async () => {
      await insertGroups(GROUPS, "d".repeat(1000));
      const answer = await begin(path());
      assert.equal(answer.headers["content-length"], undefined);
      const { items } = parse((await answer.toArray()).join("")) as { items: { id: string }[] };
      assert.deepEqual(items.map(({ id }) => id).toSorted(), uidsOf(GROUPS));
      // gRPC sends one message, which would have to be collected.
      const refused = errorOf(await world.grpc.call(Groups.method.list, { uidp: { childrenOf: organization } }, world.owner.token));
      assert.equal(refused.code, Code.RESOURCE_EXHAUSTED);
    });

    test("a long list holds a transfer slot of its caller until the caller has read it or is gone", async () => {
      await insertGroups(GROUPS, "d".repeat(1000));
      const unread = await begin(path());
      assert.equal((await world.raw("GET", path())).status, 429);
      // A short list needs no slot.
      assert.equal((await world.raw("GET", `${path()}&name=group%209`)).status, 200);
      unread.destroy();
      await until(async () => (await world.raw("HEAD", path())).status === 200);
    });

    test("a list of more than 100,000 rows is refused and names the paged list", async () => {
      await world.store.transaction((db) => appendToCounts(db, "group", uidsOf(100_001), 1));
      const answer = await world.raw("GET", path());
      assert.equal(answer.status, 429);
      assert.match(textOf(parse(answer.text).message), /more than 100000 results.*GET \/iam\/v2\/groups$/);
    });

    test("repos count with their readmes: a list of 20 MiB is sent in chunks over REST, and refused over gRPC", async () => {
      await insertReadmes(5, 4 * MIB);
      const filter = { uidp: { descendantsOf: organization } };
      const answer = await world.raw("GET", `/registry/v1/repos?uidp.descendantsOf=${organization}`);
      assert.deepEqual(
        (parse(answer.text) as { items: { readme: string }[] }).items.map(({ readme }) => readme.length),
        Array.from({ length: 5 }, () => 4 * MIB),
      );
      const refused = errorOf(await world.grpc.call(Registry.method.listRepos, filter, world.owner.token));
      assert.equal(refused.code, Code.RESOURCE_EXHAUSTED);
    });

    test("identities, and role bindings with their whole groups and roles, are sent in chunks", async () => {
      const description = "d".repeat(300_000);
      const describe = async (table: "group" | "identity", uid: string) => {
        const { body } = await world.store.reader.selectFrom(table).select("body").where("uid", "=", uid).executeTakeFirstOrThrow();
        const described = JSON.stringify({ ...(JSON.parse(body) as object), description });
        await world.store.transaction((db) => db.updateTable(table).set({ body: described }).where("uid", "=", uid).execute());
      };
      const robots: string[] = [];
      for (let i = 0; i < 8; i++) robots.push((await world.robot(organization, [Capability.CAP_IAM_GROUPS_LIST])).uid);
      for (const uid of robots) await describe("identity", uid);
      await describe("group", organization);
      for (const collection of ["identities", "rolebindings"]) {
        const answer = await begin(`/iam/v1/${collection}?uidp.childrenOf=${organization}`);
        assert.equal(answer.headers["content-length"], undefined, collection);
        const { items } = parse((await answer.toArray()).join("")) as { items: JsonObject[] };
        const identities = items.map(({ id, identity = id }) => identity);
        // The organization's creator has a binding, too.
        assert.deepEqual(identities.filter((uid) => robots.includes(String(uid))).toSorted(), robots.toSorted(), collection);
      }
    });

    test("a list of more than 256 MiB is refused before a byte of it is sent", async () => {
      await insertReadmes(65, 4 * MIB);
      const answer = await world.raw("GET", `/registry/v1/repos?uidp.descendantsOf=${organization}`);
      assert.equal(answer.status, 429);
      assert.match(textOf(parse(answer.text).message), /more than 256 MiB.*GET \/registry\/v2\/repos$/);
    });
  },
  { limits },
);
