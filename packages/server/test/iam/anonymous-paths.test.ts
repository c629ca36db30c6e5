/**
 * Anonymous callers at every path of the protocols: the registry, libraries, directories, feeds and sign-in. The
 * operations of the contract are in test/conformance/access.test.ts.
 */
import assert from "node:assert/strict";
import { before, it } from "node:test";
import { PublicContent_Kind as Kind, PublicContentService } from "@holt/api/gen/holt/v1/public_content_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { createMavenClient } from "../harness/libraries/maven-client.ts";
import { upload, wheel } from "../harness/libraries/python-packages.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

/** Paths of private content, with the places of its names. `NAME` is an organization, a folder or a provider. */
interface Probe {
  readonly verb: string;
  readonly path: string;
}

const DIGEST = `sha256:${"0".repeat(64)}`;
const probe = (path: string, ...verbs: string[]): Probe[] => (verbs.length === 0 ? ["GET"] : verbs).map((verb) => ({ verb, path }));

const REGISTRY: readonly Probe[] = [
  ...probe("/v2/NAME/app/tags/list"),
  ...probe("/v2/NAME/app/manifests/1", "GET", "HEAD", "PUT", "DELETE"),
  ...probe(`/v2/NAME/app/blobs/${DIGEST}`, "GET", "HEAD", "DELETE"),
  ...probe("/v2/NAME/app/blobs/uploads/", "POST"),
  ...probe(`/v2/NAME/app/blobs/uploads/?mount=${DIGEST}&from=NAME/app`, "POST"),
  ...probe(`/v2/NAME/app/referrers/${DIGEST}`),
];
const LIBRARIES: readonly Probe[] = [
  ...probe("/libraries/python/NAME/simple/"),
  ...probe("/libraries/python/NAME/simple/hello/"),
  ...probe("/libraries/python/NAME/", "POST"),
  ...probe("/libraries/java/NAME/test/hello/maven-metadata.xml", "GET", "HEAD"),
  ...probe("/libraries/java/NAME/test/hello/1.0/hello-1.0.pom", "GET", "HEAD", "PUT"),
];
const DIRECTORY: readonly Probe[] = [
  ...probe("/scim/v2/NAME/Users", "GET", "POST"),
  ...probe("/scim/v2/NAME/Users/1", "GET", "PUT", "PATCH", "DELETE"),
  ...probe("/scim/v2/NAME/Groups", "GET", "POST"),
];

describeWithWorld("anonymous callers at the paths of protocols", (world) => {
  let callers: readonly (readonly [name: string, headers: Record<string, string>])[];
  let provider: string;
  before(async () => {
    const open = await world.group(world.orgUid, "open");
    await world.must(PublicContentService.method.createPublicContent, {
      parent: open,
      publicContent: { kinds: [Kind.IMAGES, Kind.PYTHON, Kind.JAVA] },
    });
    await world.group(world.orgUid, "team");
    using owner = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    await owner.image("my-org/team/app", "1");
    assert.equal((await upload(owner, "my-org:team", wheel({ name: "hello" }), { name: "hello", version: "1.0" })).status, 200);
    const coordinates = { groupId: "test", artifactId: "hello", version: "1.0" };
    await createMavenClient(owner, "/libraries/java/my-org:team").deploy(coordinates, "jar");
    const oidc = { issuer: "https://idp.example.com", clientId: "holt", clientSecret: "secret" };
    const defaultRole = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    const identityProvider = { name: "idp", defaultRole, configuration: { case: "oidc", value: oidc } } as const;
    provider = (await world.must(IdentityProvidersService.method.createIdentityProvider, { parent: world.orgUid, identityProvider })).uid;
    const { text } = await world.http("GET", "/token?scope=registry:catalog:*", undefined, {});
    const { token } = JSON.parse(text) as { token: string };
    callers = [
      ["no login", {}],
      ["an empty login", { authorization: basic("", "") }],
      ["an anonymous token", { authorization: `Bearer ${token}` }],
    ];
  });

  /** The answer without the names in the request. */
  async function answerTo({ verb, path }: Probe, name: string, headers: Record<string, string>) {
    const { status, headers: sent, text } = await world.http(verb, path.replaceAll("NAME", name), undefined, headers);
    const { date: _date, "content-length": _length, "x-request-id": _id, traceparent: _trace, ...others } = sent;
    return { status, told: JSON.stringify([status, others, text]).replaceAll(encodeURIComponent(name), "NAME").replaceAll(name, "NAME") };
  }

  const groups = [
    { protocol: "the registry", probes: REGISTRY, known: () => "my-org/team", missing: "my-org/none" },
    { protocol: "libraries", probes: LIBRARIES, known: () => "my-org:team", missing: "my-org:none" },
    { protocol: "directories", probes: DIRECTORY, known: () => provider, missing: `${"0".repeat(40)}/0123456789abcdef` },
  ];
  for (const { protocol, probes, known, missing } of groups)
    it(`${protocol} give anonymous callers the same refusal for private and missing names`, async () => {
      for (const [caller, headers] of callers)
        for (const each of probes) {
          const answers = [await answerTo(each, known(), headers), await answerTo(each, missing, headers)];
          const what = `${each.verb} ${each.path} with ${caller}`;
          assert.equal(answers[0]?.status, 401, what);
          assert.equal(answers[0]?.told, answers[1]?.told, what);
        }
    });

  it("the catalog and the pages of sign-in name nothing that is private", async () => {
    const invite = "bm90IGFuIGludml0ZQ==";
    const paths = ["/v2/_catalog", "/oauth", `/oauth?organization=${world.orgUid}`, `/oauth?idp_id=my-org`, `/oauth?invite=${invite}`];
    paths.push(
      `/oauth/account/new?invite=${invite}`,
      "/oauth/account/link?token=x",
      "/oauth/device?user_code=AAAA-AAAA",
      "/",
      "/openapi.json",
    );
    paths.push(
      `/oauth/logo?organization=${world.orgUid}`,
      "/orgcheck?name=my-org",
      "/advisories/",
      "/healthz",
      "/readyz",
      "/.well-known/jwks.json",
    );
    for (const [caller, headers] of callers)
      for (const path of paths) {
        const { text } = await world.http("GET", path, undefined, headers);
        for (const secret of ["my-org/team", "my-org:team", provider, "idp.example.com"])
          assert.equal(text.includes(secret), false, `${path} with ${caller} names ${secret}`);
      }
  });
});
