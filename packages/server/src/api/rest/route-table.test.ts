import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { contractOperations } from "../../../test/harness/contract-operations.ts";
import { growth, MAX_LINEAR_GROWTH } from "../../../test/harness/cpu-cost.ts";
import fc from "../../../test/harness/property.ts";
import type { HttpBinding, Operation } from "../call/operation.ts";
import { parsePathTemplate } from "./path-template.ts";
import { type Route, RouteTable, routesOf } from "./route-table.ts";

const contract = new RouteTable(routesOf(contractOperations));

function routeOf(text: string): Route {
  const [method = "", path = ""] = text.split(" ");
  const binding = { method, path, body: "" } as HttpBinding;
  return { operation: { name: text } as Operation, binding, template: parsePathTemplate(path) };
}

function tableOf(...routes: string[]): RouteTable {
  return new RouteTable(routes.map(routeOf));
}

/** `Service/Method value…` of a match. */
function outcome(table: RouteTable, request: string): string {
  const [method = "", path = ""] = request.split(" ");
  const match = table.match(method, path);
  if (match.kind !== "match") return match.kind;
  const { route, variables, alias } = match;
  return [route.operation.name.split(".").at(-1), ...variables.map((value) => `<${value}>`), ...(alias === undefined ? [] : [alias])].join(
    " ",
  );
}

describe("the routes of the contract", () => {
  const cases: Record<string, string> = {
    "GET /iam/v2/groups": "GroupsService/ListGroups",
    "GET /iam/v2/groups/": "GroupsService/ListGroups",
    "POST /iam/v2/groups": "GroupsService/CreateGroup <>",
    "POST /iam/v2/groups/": "GroupsService/CreateGroup <>",
    "POST /iam/v2/groups/a/b": "GroupsService/CreateGroup <a/b>",
    "GET /iam/v2/groups/a/b/": "GroupsService/GetGroup <a/b>",
    "GET /iam/v2/groups/a%2Fb": "GroupsService/GetGroup <a/b>",
    "GET /iam/v2/groups/a%252Fb": "GroupsService/GetGroup <a%2Fb>",
    "PATCH /iam/v2/groups/a": "GroupsService/UpdateGroup <a>",
    "GET /iam/v2beta1/groups/a": "GroupsService/GetGroup <a> v2beta1",
    "GET /iam/v2/groups:lookupGroup": "GroupsService/LookupGroup",
    "GET /iam/v2beta1/groups:lookupGroup": "GroupsService/LookupGroup v2beta1",
    "POST /iam/v2/groups/a/b:requestGroupAccess": "GroupsService/RequestGroupAccess <a/b>",
    "GET /iam/v2/groups/a:noSuchVerb": "GroupsService/GetGroup <a:noSuchVerb>",
    "GET /registry/v2/repos/a/b/readme": "ReposService/GetRepoReadme <a/b>",
    "GET /registry/v2/repos/a/b/digests/sha256:c/size": "ImagesService/GetSize <a/b> <sha256:c>",
    "GET /registry/v2/repos/a/b/digests/sha256%3Ac/size/": "ImagesService/GetSize <a/b> <sha256:c>",
    "GET /libraries/v2/artifacts/count": "ArtifactsService/GetArtifactCount",
    "GET /libraries/v2/artifacts/a%2Fb/versions": "ArtifactsService/ListArtifactVersions <a/b>",
    "GET /sts/exchange": "SecurityTokenService/Exchange",
    "POST /sts/exchange": "SecurityTokenService/Exchange",
    "PUT /sts/exchange": "wrong-method",
    "PUT /iam/v2/groups/a": "wrong-method",
    "OPTIONS /iam/v2/groups": "wrong-method",
    "POST /ping/v2/ping": "wrong-method",
    "GET /iam/v3/groups": "unknown-path",
    "GET /iam/v2": "unknown-path",
    "GET /": "unknown-path",
    "OPTIONS *": "unknown-path",
    "GET /iam/v2beta1x/groups": "unknown-path",
  };
  for (const [request, expected] of Object.entries(cases)) {
    it(`the routes of the contract answer ${request} with ${expected}`, () => assert.equal(outcome(contract, request), expected));
  }

  it("the routes of the contract refuse a path that is not percent-encoded UTF-8", () => {
    for (const path of ["/iam/v2/groups/%zz", "/iam/v2/groups/%", "/iam/v2/groups/%ff"]) {
      assert.throws(() => contract.match("GET", path), { code: 3, message: /percent-encoded/ });
    }
  });
});

describe("the route table", () => {
  it("the route table refuses two routes with one method and path, and names both", () => {
    assert.throws(() => tableOf("GET /a/{x=**}", "GET /a/{y=**}"), { message: /GET \/a\/\{y=\*\*\} and GET \/a\/\{x=\*\*\} both claim/ });
    assert.throws(() => tableOf("GET /a/{x}", "GET /a/*"), /both claim/);
    assert.doesNotThrow(() => tableOf("GET /a/{x=**}", "PUT /a/{y=**}", "GET /a/{x=**}:v", "GET /a/{x}"));
  });

  it("the route table prefers a literal over *, * over **, and the longer rest behind **", () => {
    const table = tableOf("GET /a/b", "GET /a/{one}", "GET /a/{many=**}", "GET /a/{many=**}/x", "GET /a/{many=**}/{one}/x");
    assert.equal(outcome(table, "GET /a/b"), "GET /a/b");
    assert.equal(outcome(table, "GET /a/c"), "GET /a/{one} <c>");
    assert.equal(outcome(table, "GET /a/c/d"), "GET /a/{many=**} <c/d>");
    assert.equal(outcome(table, "GET /a/c/x"), "GET /a/{many=**}/{one}/x <> <c>");
  });

  it("the route table agrees with a naive matcher", () => {
    const segment = fc.constantFrom("a", "b", "c", "*");
    const shape = fc
      .tuple(fc.array(segment, { maxLength: 3 }), fc.boolean(), fc.array(segment, { maxLength: 2 }), fc.constantFrom("", "", ":v", ":w"))
      .map(([before, many, after, verb]) => `/${[...before, ...(many ? ["**", ...after] : [])].join("/")}${verb}`)
      .filter((path) => !/^\/(?::|$)/.test(path));
    const route = fc.tuple(fc.constantFrom("GET", "POST"), shape).map((parts) => parts.join(" "));
    const path = fc
      .array(fc.constantFrom("a", "b", "c", "d", "a:v", "b:x", ""), { maxLength: 6 })
      .map((segments) => `/${segments.join("/")}`);
    fc.assert(
      fc.property(fc.uniqueArray(route, { maxLength: 12 }), fc.constantFrom("GET", "POST"), path, (routes, method, given) => {
        const match = tableOf(...routes).match(method, given);
        assert.equal(match.kind === "match" ? match.route.operation.name : match.kind, naive(routes, method, given));
      }),
      { numRuns: 3000 },
    );
  });

  it("the route table takes time linear in the path, however many ways there are to match it", () => {
    const table = tableOf("GET /{a=**}/x/x/x/y", "GET /*/*/*/{a=**}/x/y", "GET /x/{a=**}/*/z");
    const cost = growth(5000, (length) => void table.match("GET", "/x".repeat(length)));
    assert.ok(cost < MAX_LINEAR_GROWTH, `${cost}`);
  });
});

/** Finds the route that the table promises, by regular expressions and a sort. */
function naive(routes: readonly string[], method: string, path: string): string {
  const trimmed = path.length > 1 ? path.replace(/\/$/, "") : path;
  const fits = routes.filter((route) => expressionOf(route.split(" ")[1] ?? "").test(trimmed.replace(/\/(:[vw])$/, "$1")));
  const [best] = fits.filter((route) => route.startsWith(`${method} `)).sort(compareRoutes);
  return best ?? (fits.length > 0 ? "wrong-method" : "unknown-path");
}

function expressionOf(template: string): RegExp {
  const [, path = "", verb = ""] = /^(.*?)(:\w+)?$/.exec(template) ?? [];
  const source = path.replaceAll("/**", "(?:MANY)?").replaceAll("*", "[^/]+").replaceAll("MANY", "/.*");
  return new RegExp(`^${source}${verb}$`);
}

function compareRoutes(left: string, right: string): number {
  const keys = [left, right].map((route) => {
    const [path = "", verb] = (route.split(" ")[1] ?? "").split(":");
    const [before = "", after] = path.split("**");
    const rank = (segment: string): string => (segment === "*" ? "1" : "0");
    const forwards = before.split("/").slice(1).filter(Boolean).map(rank);
    const backwards = (after ?? "").split("/").filter(Boolean).reverse().map(rank);
    // `**` ranks behind all else on its way forwards, the end of the template before all; behind `**` the longer rest is better.
    return [verb === undefined ? "1" : "0", ...forwards, ...(after === undefined ? ["/"] : ["2", ...backwards, "2"])].join("");
  });
  return (keys[0] ?? "") < (keys[1] ?? "") ? -1 : 1;
}
