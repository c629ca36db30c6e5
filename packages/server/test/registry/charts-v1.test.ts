/** Tests pushed Helm charts in version 1 of the API, on both stores. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { ChartImageRequirement, Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { type Entries, layerOf } from "../harness/registry/image-content.ts";
import { basic, createRegistryClient, type Descriptor, MANIFEST, type RegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const { getChart, getHelm, listChartsByImageRepo } = Registry.method;
const { REQUIREMENT_REQUIRED: REQUIRED, REQUIREMENT_OPTIONAL: OPTIONAL, REQUIREMENT_UNSPECIFIED: UNSPECIFIED } = ChartImageRequirement;
const CONFIG = "application/vnd.cncf.helm.config.v1+json";
const CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const UNKNOWN = `sha256:${"2".repeat(64)}`;

const CHART = `apiVersion: v2
name: app
version: 1.10
appVersion: "2.0"
description: An app.
annotations:
  category: tools
  artifacthub.io/images: |
    - name: job
      image: docker.io/library/job:1
dependencies:
  - name: redis
    version: ~20.1
    repository: oci://registry.example.com/charts
`;

describeWithWorld("Helm charts in version 1", (world) => {
  let client: RegistryClient;
  let group: string;
  let organization: string;
  before(async () => {
    client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    group = await world.group(world.orgUid, "charts");
    organization = (await world.must(GroupsService.method.getGroup, { uid: world.orgUid })).name;
  });
  after(() => client[Symbol.dispose]());

  const host = () => new URL(world.baseUrl).host;
  const repoNamed = async (name: string) => (await world.must(ReposService.method.createRepo, { parent: group, repo: { name } })).uid;
  const push = async (repo: string, files: Entries, reference?: string): Promise<Descriptor> => {
    const config = await client.blob(repo, "{}", CONFIG);
    const layer = await client.blob(repo, await layerOf(files), CONTENT);
    return client.manifest(repo, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] }, reference);
  };
  const bindingsOf = async (repoId: string, token = world.token) =>
    (await world.must(listChartsByImageRepo, { repoId }, token)).chartImageBindings.map((each) => [each.chartRepo, each.requirement]);

  test("a chart is read from its archive, with the images of its annotations and values", async () => {
    const repoId = await repoNamed("app");
    const values = `# Comment.
image:
  registry: registry.example.com:8080
  repository: my-org/app
  tag: 1.20
sidecar:
  enabled: false
  image:
    repository: my-org/sidecar
    digest: ${UNKNOWN}
worker:
  image: docker.io/library/worker:2
git:
  repository: https://git.example.com/x
`;
    const files = {
      "app/Chart.yaml": CHART,
      "app/values.yaml": values,
      "app/CHANGELOG.md": "# 1.10\n",
      "app/charts/redis/Chart.yaml": "name: redis\n",
      "app/templates/a.yaml": "{{ fail }}",
    };
    const { digest } = await push(repoId, files);
    for (const each of world.clients) {
      const chart = answerOf(await each.call(getChart, { repoId, digest }, world.token));
      assert.deepEqual([chart.name, chart.version, chart.appVersion, chart.description], ["app", "1.10", "2.0", "An app."]);
      assert.deepEqual([chart.raw, chart.values, chart.changelog], [CHART, values, "# 1.10\n"]);
      assert.deepEqual(
        chart.dependencies.map(({ name, version, repository }) => [name, version, repository]),
        [["redis", "~20.1", "oci://registry.example.com/charts"]],
      );
      assert.equal(chart.annotations.category, "tools");
      assert.deepEqual(
        chart.images.map(({ name, image, requirement }) => [name, image, requirement]),
        [
          ["job", "docker.io/library/job:1", UNSPECIFIED],
          ["image", "registry.example.com:8080/my-org/app:1.20", REQUIRED],
          ["sidecar", `my-org/sidecar@${UNKNOWN}`, OPTIONAL],
          ["worker", "docker.io/library/worker:2", REQUIRED],
        ],
      );
      const helm = answerOf(await each.call(getHelm, { repoId, digest }, world.token));
      assert.deepEqual(
        [helm.chartName, helm.chartVersion, helm.chartRepository, helm.chartDigest, helm.values],
        ["app", "1.10", `oci://${host()}/${organization}/charts`, digest, values],
      );
    }
  });

  test("charts are listed by the repositories of their images, in every spelling and without old versions", async () => {
    const image = await repoNamed("nginx");
    const [one, two] = [await repoNamed("one"), await repoNamed("two")];
    const chart = (name: string, values: string) => ({
      [`${name}/Chart.yaml`]: `name: ${name}\nversion: "1"\n`,
      [`${name}/values.yaml`]: values,
    });
    const byName = `${host()}/${organization}/charts/nginx`;
    assert.deepEqual(await bindingsOf(image), []);
    await push(one, chart("one", `a: {enabled: false, image: {repository: ${byName}}}\n`), "1");
    assert.deepEqual(await bindingsOf(image), [[`${organization}/charts/one`, OPTIONAL]]);
    world.clock.advance(1000);
    await push(one, chart("one", `global: {imageRegistry: "${host()}"}\nimage: {registry: x.io, repository: ${image}, tag: 2}\n`), "2");
    const first = await push(two, chart("two", `image: ${host()}/${world.orgUid}/charts/nginx:1\n`), "1");
    const third = await push(two, chart("two", `image: other.example.com/${organization}/charts/nginx:1\n`), "3");
    for (const each of world.clients) {
      const { chartImageBindings } = answerOf(await each.call(listChartsByImageRepo, { repoId: image }, world.token));
      assert.deepEqual(
        chartImageBindings.map(({ chartRepo, requirement }) => [chartRepo, requirement]),
        [
          [`${organization}/charts/one`, REQUIRED],
          [`${organization}/charts/two`, REQUIRED],
        ],
      );
    }
    await world.must(ReposService.method.updateRepo, { repo: { uid: two, name: "renamed" }, updateMask: { paths: ["name"] } });
    assert.deepEqual(
      (await bindingsOf(image)).map(([name]) => name),
      [`${organization}/charts/one`, `${organization}/charts/renamed`],
    );
    const pushed = await client.image(image);
    const helm = await world.must(getHelm, { repoId: image, digest: pushed.digest });
    assert.equal(helm.chartVersion, "1");
    for (const digest of [first.digest, third.digest])
      assert.equal((await client.send("DELETE", `${two}/manifests/${digest}`)).status, 202);
    assert.deepEqual(
      (await bindingsOf(image)).map(([name]) => name),
      [`${organization}/charts/one`],
    );
    const { digest } = await push(one, chart("one", "a: 1\n"));
    assert.equal((await world.must(getChart, { repoId: one, digest })).images.length, 0);
  });

  test("charts that the caller may not see are not listed", async () => {
    const image = await repoNamed("secret");
    const hidden = await world.group(world.orgUid, "hidden");
    const { uid } = await world.must(ReposService.method.createRepo, { parent: hidden, repo: { name: "chart" } });
    const values = `image: {repository: ${host()}/${organization}/charts/secret}\n`;
    await push(uid, { "a/Chart.yaml": "name: a\n", "a/values.yaml": values });
    assert.equal((await bindingsOf(image)).length, 1);
    const robot = await world.robot(group, [Capability.CAP_REPO_LIST, Capability.CAP_TAG_LIST]);
    assert.deepEqual(await bindingsOf(image, robot.token), []);
    const pushed = await client.image(image);
    const refused = await world.rest.call(getHelm, { repoId: image, digest: pushed.digest }, robot.token);
    assert.equal(codeOf(refused), Code.NOT_FOUND);
  });

  test("archives that are not charts are stored and refused, and images are not charts", async () => {
    const repoId = await repoNamed("broken");
    const bomb = `a: &a [${"x,".repeat(20)}]\n${Array.from({ length: 20 }, (_, i) => `b${i}: [${"*a,".repeat(50)}]`).join("\n")}\n`;
    const broken: readonly Entries[] = [
      { "a/values.yaml": "a: 1" },
      { "a/Chart.yaml": "a: [" },
      { "a/Chart.yaml": "- a" },
      { "a/Chart.yaml": `name: ${"x".repeat(500_000)}` },
      { "a/Chart.yaml": bomb },
    ];
    for (const files of broken) {
      const { digest } = await push(repoId, files);
      for (const each of world.clients)
        assert.equal(codeOf(await each.call(getChart, { repoId, digest }, world.token)), Code.FAILED_PRECONDITION);
    }
    const config = await client.blob(repoId, "{}", CONFIG);
    const layer = await client.blob(repoId, "not an archive", CONTENT);
    const damaged = await client.manifest(repoId, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] });
    assert.equal(codeOf(await world.rest.call(getChart, { repoId, digest: damaged.digest }, world.token)), Code.FAILED_PRECONDITION);
    const image = await client.image(repoId);
    for (const digest of [image.digest, UNKNOWN, "latest"])
      for (const method of [getChart, getHelm])
        for (const each of world.clients) assert.equal(codeOf(await each.call(method, { repoId, digest }, world.token)), Code.NOT_FOUND);
    const odd = await push(repoId, { "a/Chart.yaml": "name: a\n", "a/values.yaml": `${bomb}image: {repository: [1]}\n` });
    assert.deepEqual((await world.must(getChart, { repoId, digest: odd.digest })).images, []);
  });
});
