/** Tests the catalog: it lists the repositories that the caller may see, by names that lead to them, page by page. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { basic, createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("the catalog", (world) => {
  const clients: RegistryClient[] = [];
  let folder: string;
  let names: string[];

  function as(authorization: string | undefined): RegistryClient {
    const client = createRegistryClient(world.baseUrl, authorization);
    clients.push(client);
    return client;
  }
  const createRepo = async (parent: string, name: string) =>
    (await world.must(ReposService.method.createRepo, { parent, repo: { name } })).uid;

  before(async () => {
    folder = await world.group(world.orgUid, "team");
    const twins = [await world.group(world.orgUid, "twin"), await world.group(world.orgUid, "twin")];
    const spaced = await world.group(world.orgUid, "two words");
    for (const name of ["a", "b", "c"]) await createRepo(folder, name);
    for (const twin of twins) await createRepo(twin, "app");
    await createRepo(spaced, "app");
    const odd = await createRepo(world.orgUid, "odd name");
    const last = (uid: string) => uid.slice(uid.lastIndexOf("/") + 1);
    names = [
      ...["a", "b", "c"].map((name) => `my-org/team/${name}`),
      ...[...twins, spaced].map((uid) => `my-org/${last(uid)}/app`),
      `my-org/${last(odd)}`,
    ].sort();
  });
  after(() => {
    for (const client of clients) client[Symbol.dispose]();
  });

  async function pages(client: RegistryClient, path: string): Promise<string[][]> {
    const found: string[][] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const answer = await client.send("GET", next);
      assert.equal(answer.status, 200, answer.body.toString());
      found.push((answer.json() as { repositories: string[] }).repositories);
      next = /^<([^>]*)>; rel="next"$/.exec(String(answer.headers.link))?.[1];
    }
    return found;
  }

  test("the catalog lists every repository by a name that clients can use", async () => {
    const owner = as(`Bearer ${world.token}`);
    assert.deepEqual(await pages(owner, "/v2/_catalog"), [names]);
    for (const name of names) assert.equal((await owner.send("GET", `${name}/tags/list`)).status, 200, name);
  });

  test("the catalog is read page by page, by its links or by the last name", async () => {
    const owner = as(`Bearer ${world.token}`);
    const byLink = await pages(owner, "/v2/_catalog?n=2");
    assert.deepEqual(
      byLink.map((page) => page.length),
      [2, 2, 2, 1],
    );
    assert.deepEqual(byLink.flat().toSorted(), names);
    const second = await owner.send("GET", `/v2/_catalog?n=2&last=${byLink[0]?.[1]}`);
    assert.deepEqual((second.json() as { repositories: string[] }).repositories, byLink[1]);
    for (const [query, status] of [
      ["n=0", 200],
      ["n=x", 400],
      ["last=no/such", 404],
      ["last=A", 400],
    ] as const)
      assert.equal((await owner.send("GET", `/v2/_catalog?${query}`)).status, status, query);
  });

  test("the catalog goes on after a repository that was deleted between two pages", async () => {
    const parent = await world.group(world.orgUid, "shrinking");
    const uids = [];
    for (const name of ["a", "b", "c"]) uids.push(await createRepo(parent, name));
    const robot = await world.robot(parent, [Capability.CAP_REPO_LIST]);
    const client = as(`Bearer ${robot.token}`);
    const first = await client.send("GET", "/v2/_catalog?n=1");
    await world.must(ReposService.method.deleteRepo, { uid: uids.sort()[0] ?? "" });
    const link = /^<([^>]*)>/.exec(String(first.headers.link))?.[1] ?? "";
    assert.equal((await pages(client, link)).flat().length, 2);
    for (const uid of uids.slice(1)) await world.must(ReposService.method.deleteRepo, { uid });
  });

  test("the catalog shows a caller only the groups where it may list repositories", async () => {
    const robot = await world.robot(folder, [Capability.CAP_REPO_LIST]);
    assert.deepEqual((await pages(as(`Bearer ${robot.token}`), "/v2/_catalog")).flat(), [
      "my-org/team/a",
      "my-org/team/b",
      "my-org/team/c",
    ]);
    const other = await world.robot(world.orgUid, [Capability.CAP_MANIFEST_LIST]);
    assert.deepEqual((await pages(as(`Bearer ${other.token}`), "/v2/_catalog")).flat(), []);
    const stranger = await world.user();
    assert.deepEqual((await pages(as(`Bearer ${stranger.token}`), "/v2/_catalog")).flat(), []);
  });

  test("the catalog does not reveal by its parameter last whether a repository exists", async () => {
    const inner = await world.group(folder, "inner");
    const robot = await world.robot(inner, [Capability.CAP_REPO_LIST]);
    for (const last of ["my-org/team/a", "my-org/team/absent"])
      assert.equal((await as(`Bearer ${robot.token}`).send("GET", `/v2/_catalog?last=${last}`)).status, 404, last);
  });

  test("the catalog names an organization as its name is resolved: that of a joined one, the uid of another one", async () => {
    const user = await world.user();
    const own = await world.must(GroupsService.method.createGroup, { parent: "", group: { name: "same" } }, user.token);
    const other = await world.must(GroupsService.method.createGroup, { parent: "", group: { name: "same" } });
    await world.bind(user.uid, await world.role(other.uid, [Capability.CAP_REPO_LIST, Capability.CAP_TAG_LIST]), other.uid);
    await world.must(ReposService.method.createRepo, { parent: own.uid, repo: { name: "mine" } }, user.token);
    const theirs = await createRepo(other.uid, "theirs");
    const client = as(`Bearer ${user.token}`);
    const found = (await pages(client, "/v2/_catalog")).flat();
    assert.deepEqual(found.toSorted(), ["same/mine", `${other.uid}/theirs`].toSorted());
    for (const name of found) assert.equal((await client.send("GET", `${name}/tags/list`)).status, 200, name);
    await world.must(ReposService.method.deleteRepo, { uid: theirs });
  });

  test("the catalog continues in a link after many groups without repositories", async () => {
    const user = await world.user();
    const role = await world.role(world.orgUid, [Capability.CAP_REPO_LIST]);
    const groups = await Promise.all(Array.from({ length: 201 }, () => world.group(world.orgUid, "empty")));
    for (const group of groups) await world.bind(user.uid, role, group);
    const filled = groups.sort().at(-1) ?? "";
    const uid = await createRepo(filled, "late");
    const found = await pages(as(`Bearer ${(await world.narrow(user, {})).token}`), "/v2/_catalog");
    assert.deepEqual(
      found.map((page) => page.length),
      [0, 1],
    );
    await world.must(ReposService.method.deleteRepo, { uid });
  });

  test("the catalog needs the scope registry:catalog:*, which the token flow grants", async () => {
    const anonymous = await as(undefined).send("GET", "/v2/_catalog");
    assert.equal(anonymous.status, 401);
    assert.match(String(anonymous.headers["www-authenticate"]), /scope="registry:catalog:\*"$/);
    const tokenFor = async (scope: string) => {
      const answer = await as(basic("_token", world.token)).send("GET", `/token?${new URLSearchParams({ scope })}`);
      return (answer.json() as { token: string }).token;
    };
    const narrow = as(`Bearer ${await tokenFor("repository:my-org/team/a:pull")}`);
    const refused = await narrow.send("GET", "/v2/_catalog");
    assert.equal(refused.status, 401);
    assert.match(String(refused.headers["www-authenticate"]), /scope="registry:catalog:\*",error="insufficient_scope"/);
    const catalog = as(`Bearer ${await tokenFor("registry:catalog:*")}`);
    assert.deepEqual((await pages(catalog, "/v2/_catalog")).flat(), names);
    assert.equal((await catalog.send("GET", "my-org/team/a/tags/list")).status, 401);
  });
});
