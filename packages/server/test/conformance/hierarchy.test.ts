/** Lists show each caller exactly the resources that the rules of visibility and the hierarchy filters admit. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { ancestry, isAtOrBelow, isInRoot, newUid, parentOf } from "../../src/lib/uid.ts";
import type { Client } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { textOf } from "../harness/json.ts";
import fc from "../harness/property.ts";
import { collectionOf, hasField, itemsOf, listingCapabilities, methodOf, type ResourceSample, type Viewer } from "../harness/samples.ts";
import type { Caller, World } from "../harness/world.ts";
import { describeWithSamples, resources } from "./samples.ts";

const LISTING = listingCapabilities(resources);
const NAMES = ["x", "y"];
/** So many scopes that a condition for each of them would make a query too long. */
const MANY = 40;

interface ListingCaller extends Caller, Viewer {
  readonly title: string;
}

interface Row {
  readonly uid: string;
  readonly name: string;
}

/** What the database contains of one resource, and which part of it each caller may see. */
interface Truth {
  readonly rows: readonly Row[];
  readonly visible: ReadonlyMap<ListingCaller, ReadonlySet<string>>;
}

interface Filter {
  readonly descendantsOf: string;
  readonly childrenOf: string;
  readonly ancestorsOf: string;
  readonly inRoot: boolean;
  readonly ids: readonly string[];
}

describeWithSamples("hierarchy filters", (world) => {
  let groups: string[];
  let viewers: ListingCaller[];
  let truths: Map<ResourceSample, Truth>;
  before(async () => {
    const founder = await world.user("founder");
    const { uid: otherOrg } = await world.must(GroupsService.method.createGroup, { group: { name: "other" } }, founder.token);
    groups = [world.orgUid];
    // A tree of some depth: each group is below one of the last four.
    for (let i = 0; i < 18; i++) groups.push(await world.group(groups.at(-1 - (i % 4)) ?? world.orgUid, NAMES[i % 2]));
    await Promise.all(groups.map((group, i) => fill(world, group, i)));
    for (const parent of [otherOrg, otherOrg]) {
      const { uid } = await world.must(GroupsService.method.createGroup, { parent, group: { name: "x" } }, founder.token);
      groups.push(uid);
    }
    groups.push(otherOrg);
    for (const sample of resources.filter((each) => each.parent.onlyInOrganizations))
      await fillWith(world, sample, { group: otherOrg, number: 0, token: founder.token });
    viewers = await makeViewers(world, groups, founder, otherOrg);
    truths = new Map(await Promise.all(resources.map(async (sample) => [sample, await truthOf(world, sample, viewers)] as const)));
  });
  const truthAbout = (sample: ResourceSample): Truth => truths.get(sample) ?? assert.fail(`nothing is known about ${sample.title}`);

  for (const sample of resources) {
    test(`any combination of filters on ${sample.title} lists exactly the rows that match`, async () => {
      const { rows, visible } = truthAbout(sample);
      const everything = [...groups, ...rows.map((row) => row.uid)];
      const odd = fc.constantFrom("/", "nonsense", groups[2]?.slice(0, -1) ?? "", newUid(world.orgUid), newUid(""), `${world.orgUid}/`);
      const anything = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...everything) }, { weight: 1, arbitrary: odd });
      /** Mostly no filter; otherwise mostly one that matches a certain row. */
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
      // Half of the callers see at least one row.
      const seeing = viewers.filter((who) => visible.get(who)?.size);
      const viewer = fc.oneof(fc.constantFrom(...viewers), fc.constantFrom(...seeing));
      let decisive = 0;
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
              (row) => visible.get(who)?.has(row.uid) && matches(sample, uidp, row) && (name === "" || row.name === name),
            );
            if (expected.length > 0 && expected.length < rows.length) decisive++;
            const request = { uidp: toFilter(uidp), ...(name && { name }), orderBy, pageSize };
            const found = await listAll(grpc ? world.grpc : world.rest, sample, request, who.token);
            assert.deepEqual(found.uids.toSorted(), expected.map((row) => row.uid).toSorted(), `${who.title} sees something else`);
            assert.deepEqual(found.totals, new Set([String(expected.length)]), `${who.title} gets another total count`);
          },
        ),
        { seed: 7, numRuns: 300 },
      );
      assert.ok(decisive >= 40, `only ${decisive} of the filters matched some rows and not all`);
    });
  }

  test("an unfiltered list shows each caller all rows that it may see and no other", async () => {
    for (const sample of resources) {
      const sizes = new Set<number>();
      for (const who of viewers) {
        const expected = [...(truthAbout(sample).visible.get(who) ?? [])];
        const { uids, totals } = await listAll(world.rest, sample, {}, who.token);
        assert.deepEqual(uids.toSorted(), expected.toSorted(), `${who.title}: ${sample.kind}`);
        assert.deepEqual(totals, new Set([String(expected.length)]));
        sizes.add(uids.length);
      }
      assert.ok(sizes.size > 2, `too many callers see the same rows of ${sample.kind}`);
    }
  });
});

interface GroupToFill {
  readonly group: string;
  /** Alternates the names of resources of which a group has only one. */
  readonly number: number;
  /** Undefined for the owner's. */
  readonly token?: string;
}

/** Creates samples in the group, and in every third group a binding of a user. */
async function fill(world: World, group: string, number: number): Promise<void> {
  for (const sample of resources)
    if (isInRoot(group) || !sample.parent.onlyInOrganizations) await fillWith(world, sample, { group, number });
  if (number % 3 === 0) {
    const user = await world.user(`user ${number}`);
    await world.bind(user.uid, await builtInRole(world, "viewer"), group);
    // The others are bound, but have not joined.
    if (number % 2 === 0) await world.join(user, group);
  }
}

/** Creates parents of the sample in the group, and resources in each of them. Resources that are parents come with their children. */
async function fillWith(world: World, sample: ResourceSample, { group, number, token }: GroupToFill): Promise<void> {
  if (resources.some(({ parent }) => parent.kind === sample.kind)) return;
  const { parent } = sample;
  const parentSample = resources.find(({ kind }) => kind === parent.kind);
  const parents = new Set<string>();
  for (const name of parentSample?.sharesNames ? [...NAMES, ...NAMES] : NAMES) parents.add(await parent.create(world, group, name, token));
  const names = sample.hasUidOfGroup ? [NAMES[number % 2] ?? ""] : NAMES;
  for (const uid of parents) {
    for (const name of names) {
      const answer = await world.raw("POST", `${collectionOf(sample)}/${uid}`, await sample.body(world, uid, name), token);
      assert.equal(answer.status, 200, answer.text);
    }
  }
}

async function makeViewers(world: World, groups: readonly string[], founder: Caller, otherOrg: string): Promise<ListingCaller[]> {
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

/** Reads all rows from the database, and applies the rules of visibility as simply as possible. */
async function truthOf(world: World, sample: ResourceSample, viewers: readonly ListingCaller[]): Promise<Truth> {
  const rows = await world.store.reader.selectFrom(sample.table).select(["uid", "name"]).execute();
  const visible = new Map<ListingCaller, Set<string>>();
  for (const who of viewers) {
    const isSeenInRoot = await sample.seenInRoot(world, who);
    const isSeen = (uid: string) => who.scopes.some((scope) => isAtOrBelow(uid, scope)) || (isInRoot(uid) && isSeenInRoot(uid));
    visible.set(who, new Set(rows.map(({ uid }) => uid).filter(isSeen)));
  }
  return { rows, visible };
}

function matches(sample: ResourceSample, { descendantsOf, childrenOf, ancestorsOf, inRoot, ids }: Filter, { uid }: Row): boolean {
  const place = placeOf(sample, uid);
  return (
    (descendantsOf === "" || place.startsWith(`${descendantsOf}/`)) &&
    (childrenOf === "" || parentOf(place) === childrenOf || (childrenOf === "/" && isInRoot(uid))) &&
    (ancestorsOf === "" || ancestorsOf.startsWith(`${uid}/`)) &&
    (!inRoot || isInRoot(uid)) &&
    (ids.length === 0 || ids.includes(uid))
  );
}

/** A resource that has the uid of its group counts as a child of the group. */
function placeOf({ hasUidOfGroup }: ResourceSample, uid: string): string {
  return hasUidOfGroup ? `${uid}/itself` : uid;
}

function toFilter({ ids, ...parts }: Filter): JsonObject {
  return { ...parts, ids: [...ids] };
}

async function listAll(
  client: Client,
  sample: ResourceSample,
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
