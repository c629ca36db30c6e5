import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Message, toJson } from "@bufbuild/protobuf";
import { contractOperations } from "../../../test/harness/contract-operations.ts";
import { compileRequestReader } from "./request-reader.ts";
import { RouteTable, routesOf } from "./route-table.ts";

const lenientRoutes = new RouteTable(
  routesOf(contractOperations).map((route) => ({ ...route, reader: compileRequestReader(route, "ignore") })),
);
const routes = new RouteTable(routesOf(contractOperations).map((route) => ({ ...route, reader: compileRequestReader(route, "refuse") })));

function read(request: string, body: string | Buffer = "", contentType?: string): Message {
  const [method = "", target = ""] = request.split(" ");
  const [path = "", query = ""] = target.split("?");
  const match = routes.match(method, path);
  assert.ok(match.kind === "match");
  return match.route.reader.read({ variables: match.variables, query, body: Buffer.from(body), contentType }).message;
}

/** The phrases about ignored input, of a server that ignores unknown parameters. */
function ignoredIn(request: string, body = "", contentType?: string): readonly string[] {
  const [method = "", target = ""] = request.split(" ");
  const [path = "", query = ""] = target.split("?");
  const match = lenientRoutes.match(method, path);
  assert.ok(match.kind === "match");
  return match.route.reader.read({ variables: match.variables, query, body: Buffer.from(body), contentType }).ignored;
}

/** The fields of the request that are not empty, as JSON. */
function given(request: string, body?: string | Buffer, contentType?: string): Record<string, unknown> {
  const [method = "", target = ""] = request.split(" ");
  const match = routes.match(method, target.split("?")[0] ?? "");
  assert.ok(match.kind === "match");
  return toJson(match.route.operation.method.input, read(request, body, contentType)) as Record<string, unknown>;
}

function refuses(request: string, body: string | Buffer | undefined, field: string, description: string | RegExp, type?: string): void {
  assert.throws(
    () => read(request, body, type),
    (error: { code: number; details: { fieldViolations: { field: string; description: string }[] } }) => {
      assert.equal(error.code, 3);
      const [violation] = error.details.fieldViolations;
      assert.equal(violation?.field, field);
      if (typeof description === "string") assert.equal(violation?.description, description);
      else assert.match(violation?.description ?? "", description);
      return true;
    },
  );
}

describe("a query of a request", () => {
  it("a query of a request sets fields in any spelling, also inside messages", () => {
    const expected = { uidp: { descendantsOf: "a/b" }, pageSize: 5, orderBy: "name desc" };
    assert.deepEqual(given("GET /registry/v2/repos?uidp.descendants_of=a/b&page_size=5&order_by=name%20desc"), expected);
    assert.deepEqual(given("GET /registry/v2/repos?uidp.descendantsOf=a%2Fb&pageSize=5&orderBy=name+desc"), expected);
  });

  it("a query of a request repeats a key for lists, and splits commas in the documented filters", () => {
    assert.deepEqual(given("GET /iam/v2/groups?uidp.ids=a&uidp.ids=b,c"), { uidp: { ids: ["a", "b,c"] } });
    const advisories = "GET /vulnerabilities/v2/advisories?artifactNames=a,b&artifact_names=c&advisoryIds=x,,y&aliases=p,q";
    assert.deepEqual(given(advisories), { artifactNames: ["a", "b", "c"], advisoryIds: ["x", "y"], aliases: ["p,q"] });
  });

  it("a query of a request reads enums by name and number, booleans as words and digits, and times", () => {
    const tags = "GET /registry/v2/tags?include_dates=1&includeEpochs=true&include_referrers=0&updated_since=2026-01-01T00:00:00%2B01:00";
    assert.deepEqual(given(tags), { includeDates: true, includeEpochs: true, updatedSince: "2025-12-31T23:00:00Z" });
    assert.deepEqual(given("GET /libraries/v2/artifacts?ecosystems=ECOSYSTEM_JAVA&ecosystems=2"), {
      ecosystems: ["ECOSYSTEM_JAVA", "ECOSYSTEM_PYTHON"],
    });
  });

  it("a query of a request distinguishes an empty parameter from an absent one", () => {
    assert.deepEqual((read("GET /registry/v2/repos?name=") as unknown as { name?: string }).name, "");
    assert.deepEqual((read("GET /registry/v2/repos?") as unknown as { name?: string }).name, undefined);
  });

  it("a query of a request can set one message of a list", () => {
    const reports = "GET /advisory/v2/images/resolvedVulns?imageRefs.repo=r&image_refs.tags=a&image_refs.tags=b";
    assert.deepEqual(given(reports), { imageRefs: [{ repo: "r", tags: ["a", "b"] }] });
  });

  it("a query of a request can name images as text", () => {
    const reports = "GET /advisory/v2/images/resolvedVulns?";
    const given2 = (query: string) => (given(reports + query) as { imageRefs: unknown }).imageRefs;
    assert.deepEqual(given2("imageRefs=r&image_refs=org/folder/r:latest,1.2%2C3"), [
      { repo: "r" },
      { repo: "org/folder/r", tags: ["latest", "1.2", "3"] },
    ]);
    assert.deepEqual(given2("imageRefs=my%20repo%3Aa&imageRefs=localhost:8080/org/r&imageRefs=localhost:8080/org/r:a"), [
      { repo: "my repo", tags: ["a"] },
      { repo: "localhost:8080/org/r" },
      { repo: "localhost:8080/org/r", tags: ["a"] },
    ]);
    assert.deepEqual(given("GET /advisory/v1/images/resolved_vulns?image_refs=r:a&imageRefs=s"), {
      imageRefs: [{ repo: "r", tags: ["a"] }, { repo: "s" }],
    });
    for (const text of ["", ":a", "r:", "r:a,", "r:,a", "r/", "r/:a"]) {
      refuses(`${reports}imageRefs=${text}`, undefined, "image_refs", /^must be a repo, or a repo and its tags/);
    }
    for (const query of ["imageRefs=r&imageRefs.repo=s", "image_refs.tags=a&image_refs=r"]) {
      refuses(reports + query, undefined, "image_refs", "is given both as a whole and in parts: use one of the two");
    }
  });

  it("a query of a request cannot override fields that the path or the body sets", () => {
    assert.deepEqual(given("GET /iam/v2/groups/a?uid=b&&"), { uid: "a" });
    assert.deepEqual(given("POST /iam/v2/groups/a?group.name=b&parent=c", '{"name":"x"}'), { parent: "a", group: { name: "x" } });
  });

  it("a query of a request is refused for an unknown parameter, with the nearest known name", () => {
    refuses("GET /iam/v2/groups?nmae=x", undefined, "nmae", 'unknown query parameter; did you mean "name"?');
    refuses("GET /registry/v2/repos?uidp.descendantOf=x", undefined, "uidp.descendantOf", /did you mean "uidp.descendantsOf"/);
    for (const name of ["utm", "uid.x", "__proto__", "constructor", "toString"])
      refuses(`GET /iam/v2/groups/a?${name}=1`, undefined, name, /^unknown query parameter/);
    refuses("GET /iam/v2/groups?=5", undefined, "", /^unknown query parameter/);
  });

  it("a query of a request reports unknown parameters if the vendor profile ignores them", () => {
    assert.deepEqual(ignoredIn("GET /iam/v2/groups?name=a"), []);
    assert.deepEqual(ignoredIn("GET /iam/v2/groups?nmae=x&%22%0A=y"), [
      'ignored unknown query parameter nmae; did you mean "name"?',
      'ignored unknown query parameter "?',
    ]);
    const many = Array.from({ length: 100 }, (_, index) => `unknown${index}=1`).join("&");
    assert.equal(ignoredIn(`GET /iam/v2/groups?${many}`).length, 5);
  });

  it("a form of an OAuth endpoint may have unknown parameters", () => {
    const form = "aud=x&grant_type=y";
    assert.deepEqual(given("POST /sts/exchange", form, "application/x-www-form-urlencoded"), { aud: ["x"] });
  });

  it("a query of a request is refused with the name of the field whose value is invalid", () => {
    refuses("GET /iam/v2/groups?page_size=five", undefined, "page_size", 'must be an integer, not "five"');
    refuses("GET /iam/v2/groups?page_size=", undefined, "page_size", 'must be an integer, not ""');
    refuses("GET /iam/v2/groups?page_size=2147483648", undefined, "page_size", "must be from -2147483648 to 2147483647");
    refuses("GET /iam/v2/groups?page_size=1&pageSize=2", undefined, "page_size", "is given more than once");
    refuses("GET /iam/v2/groups?uidp.in_root=maybe", undefined, "uidp.in_root", "must be true or false");
    refuses("GET /libraries/v2/artifacts?ecosystems=RUST", undefined, "ecosystems", /must be one of ECOSYSTEM_UNSPECIFIED/);
    refuses("GET /registry/v2/tags?updated_since=today", undefined, "updated_since", /RFC 3339/);
    refuses("GET /iam/v2/groups?uidp=x", undefined, "uidp", "cannot be given as a query parameter");
    refuses("GET /iam/v2/groups?name=%ff", undefined, "", /UTF-8/);
  });
});

describe("a body of a request", () => {
  it("a body of a request may have unknown fields, which are reported", () => {
    const body = '{"name":"n","nmae":"x","claimMatch":{"isuer":"a"},"createTime":"2026-01-01T00:00:00Z"}';
    const phrases = ["ignored unknown field nmae", "ignored unknown field claim_match.isuer"];
    assert.deepEqual(ignoredIn("POST /iam/v2/identities/a", body), phrases);
  });

  it("a body of a request becomes the field that the route names, with any content type", () => {
    const expected = { parent: "a", group: { name: "n", resourceLimits: { repos: 3 } } };
    assert.deepEqual(
      given("POST /iam/v2/groups/a", '{"name":"n","resource_limits":{"repos":3}}', "application/x-www-form-urlencoded"),
      expected,
    );
  });

  it("a body of a request may be missing, empty or null", () => {
    for (const body of ["", "  \n", "{}", "null", '{"name":null}']) assert.deepEqual(given("POST /iam/v2/groups", body), { group: {} });
  });

  it("a body of a request becomes the whole request if the route maps it so, except the fields of the path", () => {
    const request = "POST /iam/v2/groups/a:requestGroupAccess";
    assert.equal(given(request, '{"groupUid":"b"}').groupUid, "a");
  });

  it("a body of a request cannot override the uid in the path", () => {
    assert.deepEqual(given("PATCH /iam/v2/groups/a?updateMask=name", '{"uid":"b","name":"n"}'), {
      group: { uid: "a", name: "n" },
      updateMask: "name",
    });
  });

  it("a body of a request is refused with the path of the field in the resource", () => {
    refuses("POST /iam/v2/identities/a", '{"claimMatch":{"issuer":5}}', "claim_match.issuer", "must be a string, not 5");
    refuses("POST /iam/v2/groups", '{"name":["x"]}', "name", "must be a string, not a list");
    refuses("POST /iam/v2/groups", "[]", "", "must be an object");
    refuses("POST /iam/v2/groups", '"text"', "", "must be an object");
    refuses("POST /iam/v2/roleBindings:batchCreate", "5", "", "must be an object");
  });

  it("a body of a request is refused if it is not JSON, not UTF-8, or nests too deep", () => {
    refuses("POST /iam/v2/groups", '{"name":', "", /^the body is not valid JSON: /);
    refuses("POST /iam/v2/groups", "name=x", "", /^the body is not valid JSON: /);
    refuses("POST /iam/v2/groups", Buffer.from([0x22, 0xff, 0x22]), "", "the body is not valid UTF-8");
    refuses("POST /iam/v2/groups", `{"x":${"[".repeat(100)}${"]".repeat(100)}}`, "", "the body nests more than 100 levels");
    refuses("POST /iam/v2/groups", `{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`, "", "the body nests more than 100 levels");
    assert.deepEqual(given("POST /iam/v2/groups", `{"x":${"[".repeat(99)}${"]".repeat(99)}}`), { group: {} });
  });

  it("the error of a body that is not JSON has no part of it, because it goes to the log", () => {
    const bodies = ['{"clientSecret": hunter2}', `{"clientSecret": hunter2${" ".repeat(100)}}`, "hunter2", "undefined"];
    for (const body of bodies) refuses("POST /iam/v2/groups", body, "", /^the body is not valid JSON(: Unexpected token '.')?$/);
  });

  it("a body of a request may have a key twice, of which the last counts, and keys such as __proto__", () => {
    assert.deepEqual(given("POST /iam/v2/groups", '{"name":"a","name":"b","__proto__":{"description":"c"},"constructor":1}'), {
      group: { name: "b" },
    });
    assert.equal(({} as { description?: string }).description, undefined);
  });
});

describe("a form in a request", () => {
  const form = "application/x-www-form-urlencoded";

  it("a form in a request adds parameters to the query of a POST without a mapped body", () => {
    for (const type of [form, `${form}; charset=utf-8`, "Application/X-WWW-Form-URLencoded ;charset=UTF-8"])
      assert.deepEqual(given("POST /sts/exchange?aud=a", "aud=b&identity=c%2Fd", type), { aud: ["a", "b"], identity: "c/d" }, type);
  });

  it("a token endpoint takes JSON as well as a form, and adds its members to the query", () => {
    const json = '{"identity":"x","aud":["b","c"],"cap":"groups.list","identityProvider":null,"unknown":1}';
    for (const type of ["application/json", "application/json; charset=utf-8"])
      assert.deepEqual(given("POST /sts/exchange?aud=a", json, type), { aud: ["a", "b", "c"], identity: "x", cap: ["groups.list"] });
    assert.deepEqual(given("POST /sts/exchange_refresh_token", '{"scopes":["s"]}', "application/json"), { scopes: ["s"] });
    assert.deepEqual(given("POST /sts/exchange?aud=a", "", "application/json"), { aud: ["a"] });
    assert.deepEqual(given("GET /sts/exchange?aud=a", "identity=x", form), { aud: ["a"] });
  });

  it("a token endpoint refuses JSON that no form can express, and bodies of other types", () => {
    refuses("POST /sts/exchange", '{"identity":{"uid":"x"}}', "identity", /string or a list of strings/, "application/json");
    refuses("POST /sts/exchange", '["x"]', "", "the body must be a JSON object", "application/json");
    refuses("POST /sts/exchange", "{", "", /not valid JSON/, "application/json");
    refuses("POST /sts/exchange", "identity=x", "", /must be application\/x-www-form-urlencoded or application\/json, not a body without/);
    refuses("POST /sts/exchange", '{"identity":"x"}', "", /not text\/plain/, "text/plain");
    refuses("POST /sts/exchange", "identity=x", "", /^the body must be/, `${form}-2`);
  });
});

describe("the mask of an update", () => {
  const mask = (request: string, body?: string): string[] =>
    (read(request, body) as unknown as { updateMask: { paths: string[] } }).updateMask.paths;

  it("the mask of an update comes from the query, in either spelling, given once or more", () => {
    assert.deepEqual(mask("PATCH /iam/v2/identities/a?updateMask=claimMatch.issuer,name", "{}"), ["claim_match.issuer", "name"]);
    assert.deepEqual(mask("PATCH /iam/v2/identities/a?update_mask=claim_match.issuer&updateMask=name", "{}"), [
      "claim_match.issuer",
      "name",
    ]);
    assert.deepEqual(mask("PATCH /iam/v2/identities/a?updateMask=*", '{"name":"x"}'), ["*"]);
  });

  it("the mask of an update is inferred from the known fields of the body otherwise, also from empty ones, but not from null", () => {
    const body = '{"name":"","description":null,"claimMatch":{"issuer":"x","claims":{"a":"b"}},"nonsense":1}';
    assert.deepEqual(mask("PATCH /iam/v2/identities/a", body), ["name", "claim_match.issuer", "claim_match.claims"]);
    assert.deepEqual(mask("PATCH /iam/v2/identities/a", '{"description":null,"claimMatch":{"issuer":null}}'), ["claim_match"]);
    assert.deepEqual(mask("PATCH /iam/v2/identities/a?updateMask=", '{"name":"x"}'), ["name"]);
    assert.deepEqual(mask("PATCH /registry/v2/repos/a", '{"syncConfig":{},"activeTags":[],"sync_config":{"source":"s"}}'), [
      "sync_config",
      "active_tags",
      "sync_config.source",
    ]);
  });

  it("the mask of an update is empty for an empty body", () => {
    assert.deepEqual(mask("PATCH /iam/v2/groups/a"), []);
  });

  it("the mask of an update names fields of the resource even if the body is the whole request", () => {
    const request = "PATCH /iam/v2/identities:updateIdentityMetadata";
    assert.deepEqual(mask(request, '{"identity_metadata":{"givenName":"x"}}'), ["given_name"]);
    assert.deepEqual(mask(request, '{"identityMetadata":{"givenName":"x"},"updateMask":"familyName"}'), ["family_name"]);
    assert.deepEqual(mask(request), []);
  });
});
