/** Tests pushes into repositories and folders that do not exist: what they create, what they leave behind, what a refusal says. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { sql } from "kysely";
import { assertGroupExists } from "../../src/api/resource/write.ts";
import { newUid } from "../../src/lib/uid.ts";
import {
  type Answer,
  basic,
  createRegistryClient,
  digestOf,
  INDEX,
  MANIFEST,
  type RegistryClient,
} from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const PUSHER = [
  ...[Capability.CAP_MANIFEST_CREATE, Capability.CAP_TAG_CREATE, Capability.CAP_REPO_CREATE],
  ...[Capability.CAP_MANIFEST_LIST, Capability.CAP_REPO_BLOBS_GET],
];
const EMPTY_INDEX = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [] });
const clients: RegistryClient[] = [];

function as(world: World, authorization: string | undefined): RegistryClient {
  const client = createRegistryClient(world.baseUrl, authorization);
  clients.push(client);
  return client;
}

/** The path of an upload that has begun. */
const pathOf = ({ headers }: Answer) => String(headers.location).slice("/v2/".length);
const messageOf = (answer: { json(): unknown }) => (answer.json() as { errors: { message: string }[] }).errors[0]?.message ?? "";
const foldersOf = async (world: World, name: string) => (await world.must(GroupsService.method.listGroups, { name })).groups;
const reposOf = async (world: World, name: string) => (await world.must(ReposService.method.listRepos, { name })).repos;
const putIndex = (client: RegistryClient, name: string, reference = "1") =>
  client.send("PUT", `${name}/manifests/${reference}`, { headers: { "content-type": INDEX }, body: EMPTY_INDEX });

after(() => {
  for (const client of clients) client[Symbol.dispose]();
});

describeWithWorld("pushes into missing repositories", (world) => {
  let owner: RegistryClient;
  before(() => {
    owner = as(world, `Bearer ${world.token}`);
  });

  test("a refused push leaves no repository behind", async () => {
    const missing = { mediaType: "x/y", digest: digestOf("missing"), size: 7 };
    for (const [body, status] of [
      ["no JSON", 400],
      ["{}", 400],
      [JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config: missing, layers: [] }), 404],
    ] as const) {
      const answer = await owner.send("PUT", "my-org/refused/manifests/1", { headers: { "content-type": MANIFEST }, body });
      assert.equal(answer.status, status, body);
    }
    assert.equal((await putIndex(owner, "my-org/refused", digestOf("other"))).status, 400);
    assert.equal((await owner.send("POST", `my-org/refused/blobs/uploads/?digest=${digestOf("other")}`, { body: "content" })).status, 400);
    assert.deepEqual(await reposOf(world, "refused"), []);
  });

  test("a push creates its repository together with the content", async () => {
    assert.equal((await putIndex(owner, "my-org/by-manifest")).status, 201);
    await owner.blob("my-org/by-blob", "content");
    const mount = `my-org/by-mount/blobs/uploads/?mount=${digestOf("content")}&from=my-org/by-blob`;
    assert.equal((await owner.send("POST", mount)).status, 201);
    const upload = await owner.send("POST", "my-org/by-upload/blobs/uploads/");
    assert.equal(upload.status, 202);
    assert.equal((await owner.send("PUT", `${pathOf(upload)}?digest=${digestOf("content")}`, { body: "content" })).status, 201);
    for (const name of ["by-manifest", "by-blob", "by-mount", "by-upload"]) {
      const found = await reposOf(world, name);
      assert.equal(found.length, 1, name);
      const events = await world.store.reader
        .selectFrom("outbox")
        .select("type")
        .where("subject", "=", found[0]?.uid ?? "")
        .where("type", "like", "%repo.created.v1")
        .execute();
      assert.equal(events.length, 1, name);
    }
  });

  test("an upload creates its repository with its content, and not when it begins, is refused or is cancelled", async () => {
    const path = pathOf(await owner.send("POST", "my-org/begun/blobs/uploads/"));
    assert.equal((await owner.send("PATCH", path, { body: "con" })).status, 202);
    const progress = await owner.send("GET", path);
    assert.deepEqual([progress.status, progress.headers.range], [204, "0-2"]);
    const cancelled = pathOf(await owner.send("POST", "my-org/begun/blobs/uploads/"));
    assert.equal((await owner.send("DELETE", cancelled)).status, 204);
    const refused = pathOf(await owner.send("POST", "my-org/begun/blobs/uploads/"));
    assert.equal((await owner.send("PUT", `${refused}?digest=${digestOf("other")}`, { body: "content" })).status, 400);
    assert.deepEqual(await reposOf(world, "begun"), []);
    // Another caller, and another name of the same place.
    const other = await world.robot(world.orgUid, PUSHER);
    assert.equal((await as(world, `Bearer ${other.token}`).send("GET", path)).code, "BLOB_UPLOAD_UNKNOWN");
    assert.equal((await owner.send("GET", path.replace("my-org/begun", "my-org/begun2"))).code, "BLOB_UPLOAD_UNKNOWN");
    // Meanwhile another layer of the image has created the repository.
    await owner.blob("my-org/begun", "another layer");
    assert.equal((await owner.send("PUT", `${path}?digest=${digestOf("content")}`, { body: "tent" })).status, 201);
    assert.equal((await owner.send("GET", `my-org/begun/blobs/${digestOf("content")}`)).body.toString(), "content");
    assert.equal((await reposOf(world, "begun")).length, 1);
  });

  test("concurrent pushes create one repository", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        owner.send("POST", `my-org/together/blobs/uploads/?digest=${digestOf(`${at}`)}`, { body: `${at}` }),
      ),
    );
    for (const { status, body } of answers) assert.equal(status, 201, body.toString());
    assert.equal((await reposOf(world, "together")).length, 1);
  });

  test("a push creates no repository that the API would refuse", async () => {
    const answer = await putIndex(owner, `my-org/${"a".repeat(256)}`);
    assert.deepEqual([answer.status, answer.code], [400, "NAME_INVALID"]);
    assert.match(messageOf(answer), /at most 255 characters/);
    assert.equal((await putIndex(owner, `my-org/${"a".repeat(255)}`)).status, 201);
  });

  test("a refusal names the missing folder, and only to callers with rights at the group above", async () => {
    const refused = await putIndex(owner, "my-org/new-team/deep/app");
    assert.deepEqual([refused.status, refused.code], [403, "DENIED"]);
    assert.match(messageOf(refused), /^the folder my-org\/new-team does not exist; create it first/);
    assert.deepEqual(await foldersOf(world, "new-team"), []);
    const below = await world.group(world.orgUid, "below");
    const robot = await world.robot(below, PUSHER);
    for (const name of ["my-org/new-team/app", "elsewhere/app"])
      assert.equal(
        messageOf(await putIndex(as(world, `Bearer ${robot.token}`), name)),
        `you may not push to ${name}; its organization and folders must exist`,
      );
  });

  test("a name without an organization is refused with the form of names", async () => {
    const pull = await owner.send("GET", "img/manifests/1");
    assert.deepEqual([pull.status, pull.code], [404, "NAME_UNKNOWN"]);
    const push = await putIndex(owner, "img");
    assert.deepEqual([push.status, push.code], [403, "DENIED"]);
    for (const answer of [pull, push]) assert.match(messageOf(answer), /a name begins with an organization, as in my-org\/img$/);
  });
});

describeWithWorld(
  "pushes into missing folders where the server creates them",
  (world) => {
    let owner: RegistryClient;
    before(() => {
      owner = as(world, `Bearer ${world.token}`);
    });

    test("a push creates the missing folders, with their events, by the token flow too", async () => {
      const scope = "repository:my-org/new-team/deep/app:pull,push";
      const answer = await as(world, basic("_token", world.token)).send("GET", `/token?${new URLSearchParams({ scope })}`);
      const client = as(world, `Bearer ${(answer.json() as { token: string }).token}`);
      await client.image("my-org/new-team/deep/app", "1");
      assert.equal((await client.send("GET", "my-org/new-team/deep/app/manifests/1")).status, 200);
      const [team] = await foldersOf(world, "new-team");
      const [deep] = await foldersOf(world, "deep");
      assert.ok(deep?.uid.startsWith(`${team?.uid}/`));
      for (const uid of [team?.uid ?? "", deep?.uid ?? ""]) {
        const events = await world.store.reader.selectFrom("outbox").selectAll().where("subject", "=", uid).execute();
        assert.deepEqual(
          events.map(({ type, data }) => [type, JSON.parse(data).actor.subject]),
          [["dev.holt.api.iam.group.created.v1", world.owner.uid]],
        );
      }
    });

    test("concurrent pushes create one folder", async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          owner.send("POST", `my-org/race/app/blobs/uploads/?digest=${digestOf(`${at}`)}`, { body: `${at}` }),
        ),
      );
      for (const { status, body } of answers) assert.equal(status, 201, body.toString());
      assert.equal((await foldersOf(world, "race")).length, 1);
    });

    test("a push uses the folder that a call of the API creates at the same moment", async () => {
      if (world.store.dialect.name === "sqlite") return;
      const uid = newUid(world.orgUid);
      const times = { create_time: "", update_time: "", body: JSON.stringify({ uid, name: "twice" }) };
      let isAnswered = false;
      let push: Promise<Answer> | undefined;
      await world.store.transaction(async (db) => {
        await assertGroupExists(world.orgUid, db);
        await db
          .insertInto("group")
          .values({ uid, parent: world.orgUid, name: "twice", verified: 0, ...times })
          .execute();
        push = putIndex(owner, "my-org/twice/app").finally(() => {
          isAnswered = true;
        });
        const waiting = sql<{
          n: string;
        }>`select count(*) as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
        await until(async () => isAnswered || Number((await waiting.execute(world.store.reader)).rows[0]?.n) > 0);
      });
      assert.equal((await push)?.status, 201);
      assert.deepEqual(
        (await foldersOf(world, "twice")).map((folder) => folder.uid),
        [uid],
      );
    });

    test("a refused push creates no folder", async () => {
      const answer = await owner.send("PUT", "my-org/none/app/manifests/1", { headers: { "content-type": MANIFEST }, body: "{}" });
      assert.equal(answer.status, 400);
      assert.equal((await putIndex(owner, `my-org/none/${"a".repeat(256)}/app`)).code, "NAME_INVALID");
      assert.equal((await putIndex(owner, `my-org/${Array(64).fill("none").join("/")}/app`)).code, "NAME_INVALID");
      assert.equal((await putIndex(owner, "my-org/0123456789abcdef/app")).code, "DENIED");
      assert.equal((await putIndex(owner, "no-such-org/app")).code, "DENIED");
      assert.deepEqual(await foldersOf(world, "none"), []);
    });

    test("a caller who may push but not create groups is told which capability is missing", async () => {
      const robot = await world.robot(world.orgUid, PUSHER);
      const client = as(world, `Bearer ${robot.token}`);
      const refused = await putIndex(client, "my-org/forbidden/app");
      assert.deepEqual([refused.status, messageOf(refused)], [403, `groups.create is needed at ${world.orgUid}`]);
      assert.deepEqual(await foldersOf(world, "forbidden"), []);
      assert.equal((await putIndex(client, "my-org/allowed")).status, 201);
    });
  },
  { env: { HOLT_REGISTRY_CREATE_FOLDERS: "on" } },
);
