import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { ancestry, isAtOrBelow, isInRoot, newUid, parentOf } from "../../src/lib/uid.ts";
import type { Client } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import fc from "../harness/property.ts";
import {
  builtInRole,
  collectionOf,
  entitleOwner,
  hasField,
  itemsOf,
  listingCapabilities,
  methodOf,
  placeFor,
  providerIn,
  resources,
  type Sample,
  startSampleWorld,
  textOf,
} from "../harness/samples.ts";
import type { Caller, World } from "../harness/world.ts";

const LISTING = listingCapabilities();
const NAMES = ["x", "y"];
/** More scopes than a condition for each of them would be good for. */
const MANY = 40;

/** Somebody, and the groups where they may list everything. */
interface Viewer extends Caller {
  readonly title: string;
  readonly scopes: readonly string[];
}

interface Row {
  readonly uid: string;
  readonly name: string;
  readonly identityUid?: string;
}

interface Filter {
  readonly descendantsOf: string;
  readonly childrenOf: string;
  readonly ancestorsOf: string;
  readonly inRoot: boolean;
  readonly ids: readonly string[];
}

for (const store of storeNames) {
  describe(`the hierarchy filters of lists on ${store}`, () => {
    let world: World;
    let groups: string[];
    let viewers: Viewer[];
    let truth: Map<string, Row[]>;
    before(async () => {
      world = await startSampleWorld({ store });
      const founder = await world.user("founder");
      const { uid: otherOrg } = await world.must(GroupsService.method.createGroup, { group: { name: "other" } }, founder.token);
      groups = [world.orgUid];
      // A tree of some depth: each group below one of the last few.
      for (let i = 0; i < 18; i++) groups.push(await world.group(groups.at(-1 - (i % 4)) ?? world.orgUid, NAMES[i % 2]));
      await Promise.all(groups.map((group, i) => fill(world, group, i)));
      for (const parent of [otherOrg, otherOrg]) {
        const { uid } = await world.must(GroupsService.method.createGroup, { parent, group: { name: "x" } }, founder.token);
        groups.push(uid);
      }
      groups.push(otherOrg);
      await fillOrganization(world, otherOrg, founder.token);
      viewers = await makeViewers(world, groups, founder, otherOrg);
      truth = new Map(await Promise.all(resources.map(async (sample) => [sample.kind, await rowsOf(world, sample)] as const)));
    });
    after(() => world[Symbol.asyncDispose]());

    for (const sample of resources) {
      it(`give of every ${sample.kind} exactly what a look at all of them gives, whatever they are combined to`, async () => {
        const rows = truth.get(sample.kind) ?? [];
        const bindings = truth.get("RoleBinding") ?? [];
        const everything = [...groups, ...rows.map((row) => row.uid)];
        const odd = fc.constantFrom("/", "nonsense", groups[2]?.slice(0, -1) ?? "", newUid(world.orgUid), newUid(""), `${world.orgUid}/`);
        const anything = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...everything) }, { weight: 1, arbitrary: odd });
        /** Mostly none; then mostly one that keeps a certain row. */
        const part = (...keeping: readonly string[]) =>
          fc.oneof(
            { weight: 6, arbitrary: fc.constant("") },
            { weight: 4, arbitrary: keeping.length === 0 ? fc.constant("") : fc.constantFrom(...keeping) },
            { weight: 1, arbitrary: anything },
          );
        const filter = fc.constantFrom(...rows).chain(({ uid }) =>
          fc.record({
            descendantsOf: part(...ancestry(placeOf(sample, uid)).slice(1)),
            childrenOf: part(parentOf(placeOf(sample, uid))),
            ancestorsOf: part(`${uid}/0123456789abcdef`, ...everything.filter((other) => other.startsWith(`${uid}/`))),
            inRoot: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.boolean() }),
            ids: fc.oneof(
              { weight: 4, arbitrary: fc.constant([]) },
              { weight: 1, arbitrary: fc.array(anything, { maxLength: 12 }).map((others) => [...others, uid]) },
            ),
          }),
        );
        const name = hasField(sample, "name") ? fc.constantFrom("", "", ...NAMES) : fc.constant("");
        // Half of them are such as see any.
        const seeing = viewers.filter((who) => rows.some((row) => sees(who, sample, row, bindings)));
        const viewer = fc.oneof(fc.constantFrom(...viewers), fc.constantFrom(...seeing));
        let telling = 0;
        const byTime = hasField(sample, "createTime") ? "create_time" : "update_time";
        const orderBy = fc.constantFrom("uid", "uid desc", byTime, `${byTime} desc`);
        await fc.assert(
          fc.asyncProperty(
            viewer,
            filter,
            name,
            orderBy,
            fc.integer({ min: 4, max: 200 }),
            fc.boolean(),
            async (who, uidp, name, orderBy, pageSize, grpc) => {
              const expected = rows.filter(
                (row) => sees(who, sample, row, bindings) && matches(sample, uidp, row) && (name === "" || row.name === name),
              );
              if (expected.length > 0 && expected.length < rows.length) telling++;
              const request = { uidp: toFilter(uidp), ...(name && { name }), orderBy, pageSize };
              const found = await listAll(grpc ? world.grpc : world.rest, sample, request, who.token);
              assert.deepEqual(found.uids.toSorted(), expected.map((row) => row.uid).toSorted(), `${who.title} sees something else`);
              assert.deepEqual(found.totals, new Set([String(expected.length)]), `${who.title} is told another number`);
            },
          ),
          { seed: 7, numRuns: 300 },
        );
        assert.ok(telling >= 40, `only ${telling} of the filters left some rows and took some`);
      });
    }

    it("give each caller all it may see and nothing else where nothing is filtered", async () => {
      const bindings = truth.get("RoleBinding") ?? [];
      for (const sample of resources) {
        const sizes = new Set<number>();
        for (const who of viewers) {
          const expected = (truth.get(sample.kind) ?? []).filter((row) => sees(who, sample, row, bindings)).map((row) => row.uid);
          const { uids, totals } = await listAll(world.rest, sample, {}, who.token);
          assert.deepEqual(uids.toSorted(), expected.toSorted(), `${who.title}: ${sample.kind}`);
          assert.deepEqual(totals, new Set([String(expected.length)]));
          sizes.add(uids.length);
        }
        assert.ok(sizes.size > 2, `the callers see too much alike of ${sample.kind}`);
      }
    });
  });
}

/** Two identities, a role, a subscription, a mirror and two repos with two tags each in the group, and in some a binding of a user in root. */
async function fill(world: World, group: string, i: number): Promise<void> {
  const claimMatch = { issuer: "https://issuer.example.com", subject: "s" };
  await Promise.all([
    ...NAMES.map((name) => world.raw("POST", `/iam/v2/identities/${group}`, { name, claimMatch })),
    world.raw("POST", `/iam/v2/roles/${group}`, { name: NAMES[i % 2], capabilities: ["CAP_REPO_LIST"] }),
    world.raw("POST", `/events/v2/subscriptions/${group}`, { sink: "https://sink.example.com/" }),
  ]);
  for (const sample of resources.filter(({ table }) => table === "tag")) {
    for (const repoName of NAMES) {
      const repo = await placeFor(world, sample, group, repoName);
      for (const name of NAMES) await world.raw("POST", `${collectionOf(sample)}/${repo}`, await sample.make(world, repo, name));
    }
  }
  if (isInRoot(group) && group !== world.orgUid) await entitleOwner(world, group);
  for (const sample of resources.filter(({ table }) => ["group_invite", "account_association", "advisory_mirror"].includes(table))) {
    const answer = await world.raw("POST", `${collectionOf(sample)}/${group}`, await sample.make(world, group, NAMES[i % 2] ?? ""));
    assert.equal(answer.status, 200, answer.text);
  }
  if (isInRoot(group)) await fillOrganization(world, group);
  if (i % 3 === 0) {
    const { uid } = await world.user(`user ${i}`);
    await world.bind(uid, await builtInRole(world, "viewer"), group);
  }
}

/** Identity providers with two mappings each. */
async function fillOrganization(world: World, organization: string, token?: string): Promise<void> {
  const sample = resources.find(({ table }) => table === "external_group_role_mapping");
  assert.ok(sample);
  for (const name of [...NAMES, ...NAMES]) {
    const provider = await providerIn(world, organization, name, token);
    for (const group of NAMES) {
      const mapping = await sample.make(world, provider, group);
      assert.equal((await world.raw("POST", `${collectionOf(sample)}/${provider}`, mapping, token)).status, 200);
    }
  }
}

async function makeViewers(world: World, groups: readonly string[], founder: Caller, otherOrg: string): Promise<Viewer[]> {
  const [, a = "", b = "", c = "", d = "", e = ""] = groups;
  const wanderer = await world.user("wanderer");
  const scattered = [d, e, a].filter((group, i, all) => !all.slice(0, i).includes(group));
  for (const group of scattered) await world.bind(wanderer.uid, await world.role(group, LISTING), group);
  const nested = await world.user("nested");
  for (const group of [b, c, e]) await world.bind(nested.uid, await world.role(group, LISTING), group);
  const busy = await world.user("busy");
  const many = await Promise.all(Array.from({ length: MANY }, (_, i) => world.group(world.orgUid, NAMES[i % 2])));
  const role = await world.role(world.orgUid, LISTING);
  await Promise.all(many.map((group) => world.bind(busy.uid, role, group)));
  await Promise.all(many.map((group) => world.group(group, "x")));
  const traveller = await world.user("traveller");
  await world.bind(traveller.uid, role, world.orgUid);
  await world.must(
    RoleBindingsService.method.createRoleBinding,
    bindingOf(traveller, await otherRole(world, otherOrg, founder), otherOrg),
    founder.token,
  );
  const below = await world.robot(c, LISTING);
  const nobody = await world.robot(a);
  const narrowed = await world.narrow(world.owner, { scopes: [b] });
  const stranger = await world.user("stranger");
  return [
    { title: "the owner", ...world.owner, scopes: [world.orgUid] },
    { title: "the founder of another organization", ...founder, scopes: [otherOrg] },
    { title: "a user of two organizations", ...traveller, scopes: [world.orgUid, otherOrg] },
    { title: "a user with scattered groups", ...wanderer, scopes: scattered },
    { title: "a user with groups in each other", ...nested, scopes: [b, c, e] },
    { title: "a user with very many groups", ...busy, scopes: many },
    { title: "a robot of a folder", ...below, scopes: [c] },
    { title: "a robot that holds nothing", ...nobody, scopes: [] },
    { title: "a narrowed token of the owner", ...narrowed, scopes: [b] },
    { title: "a user who holds nothing", ...stranger, scopes: [] },
  ];
}

function bindingOf({ uid }: Caller, roleUid: string, parent: string) {
  return { parent, roleBinding: { identityUid: uid, roleUid } };
}

async function otherRole(world: World, parent: string, { token }: Caller): Promise<string> {
  return (await world.must(RolesService.method.createRole, { parent, role: { name: "lists", capabilities: LISTING } }, token)).uid;
}

/** All there are, as no API shows them. */
async function rowsOf(world: World, { table }: Sample): Promise<Row[]> {
  if (table !== "role_binding") return world.store.reader.selectFrom(table).select(["uid", "name"]).execute();
  return world.store.reader.selectFrom(table).select(["uid", "name", "identity_uid as identityUid"]).execute();
}

/** The rules of visibility, said as simply as they can be. */
function sees({ uid: viewer, scopes }: Viewer, { kind }: Sample, { uid }: Row, bindings: readonly Row[]): boolean {
  const isWithin = (place: string) => scopes.some((scope) => isAtOrBelow(place, scope));
  if (isWithin(uid)) return true;
  if (!isInRoot(uid)) return false;
  if (kind === "Role") return true;
  if (kind !== "Identity") return false;
  return uid === viewer || bindings.some((binding) => binding.identityUid === uid && isWithin(parentOf(binding.uid)));
}

function matches(sample: Sample, { descendantsOf, childrenOf, ancestorsOf, inRoot, ids }: Filter, { uid }: Row): boolean {
  const place = placeOf(sample, uid);
  return (
    (descendantsOf === "" || place.startsWith(`${descendantsOf}/`)) &&
    (childrenOf === "" || parentOf(place) === childrenOf || (childrenOf === "/" && isInRoot(uid))) &&
    (ancestorsOf === "" || ancestorsOf.startsWith(`${uid}/`)) &&
    (!inRoot || isInRoot(uid)) &&
    (ids.length === 0 || ids.includes(uid))
  );
}

/** What has the uid of its group counts as the group's child. */
function placeOf({ hasUidOfGroup }: Sample, uid: string): string {
  return hasUidOfGroup ? `${uid}/itself` : uid;
}

function toFilter({ ids, ...parts }: Filter): JsonObject {
  return { ...parts, ids: [...ids] };
}

async function listAll(
  client: Client,
  sample: Sample,
  request: JsonObject,
  token: string,
): Promise<{ uids: string[]; totals: Set<string> }> {
  const method = methodOf(sample, "List");
  const uids: string[] = [];
  const totals = new Set<string>();
  for (let pageToken = ""; ; ) {
    const outcome = await client.call(method, fromJson(method.input, { ...request, pageToken }), token);
    if (!outcome.ok) throw new Error(outcome.error.message);
    const page = toJson(method.output, outcome.value) as JsonObject;
    uids.push(...((page[itemsOf(sample)] ?? []) as JsonObject[]).map(({ uid }) => textOf(uid)));
    totals.add(textOf(page.totalCount));
    pageToken = textOf(page.nextPageToken);
    if (pageToken === "") return { uids, totals };
  }
}
