import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type DescMessage, type DescMethodUnary, fromJson, getOption, hasOption, type JsonObject, toJson } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { events, http, services } from "@holt/api";
import { Audience } from "@holt/api/gen/platform/annotations/annotations_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { parentOf, rootOf, uidFromText } from "../../src/lib/uid.ts";
import { unimplemented } from "../../src/unimplemented.ts";
import { answerOf, httpRequestOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import {
  builtInRole,
  collectionOf,
  fieldOf,
  methodOf,
  parse,
  placeFor,
  providerIn,
  samples,
  startSampleWorld,
  textOf,
} from "../harness/samples.ts";
import type { World } from "../harness/world.ts";

interface Event {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly group_uid: string;
  readonly time: string;
  readonly audience: string;
  readonly body_type: string;
  readonly extensions: string;
  readonly data: string;
}

/** An evented call, and what its event must say that does not follow from the contract's annotations. */
interface Happening {
  readonly method: DescMethodUnary;
  readonly request: JsonObject;
  readonly subject: (answer: JsonObject) => string;
  readonly group: (answer: JsonObject) => string;
  /** Attributes beside the group; none where it is left out. */
  readonly extensions?: (answer: JsonObject) => JsonObject;
  /** In place of the owner's. */
  readonly token?: string;
  /** Where nobody is known to act. */
  readonly isAnonymous?: boolean;
}

const evented = services
  .flatMap((service) =>
    service.methods.map((method) => ({ name: `${service.typeName}/${method.name}`, method: method as DescMethodUnary })),
  )
  .filter(({ name, method }) => hasOption(method, events) && !unimplemented.has(name));

/** Versions under which REST answers, and what each says of itself. */
const versions = ["v2", "v2beta1"] as const;
const profiles = [
  { profile: "", prefix: "dev.holt", root: "platform." },
  { profile: "chainguard", prefix: "dev.chainguard", root: "chainguard.platform." },
];

for (const store of storeNames) {
  for (const { profile, prefix, root } of profiles) {
    describe(`events on ${store}, vendor profile "${profile}"`, () => {
      let world: World;
      before(async () => {
        world = await startSampleWorld({ store, env: { HOLT_VENDOR_PROFILE: profile } });
      });
      after(() => world[Symbol.asyncDispose]());

      for (const { name, method } of evented) {
        for (const version of versions.filter((each) => each === "v2" || name.includes(".v2."))) {
          it(`${name} called as ${version} tells of itself exactly once`, async () => {
            const happening = await happeningOf(world, name, method);
            const before = await lastSeq(world);
            world.clock.advance(1000);
            const { verb, path, body } = httpRequestOf(method, fromJson(method.input, happening.request));
            const answer = await world.raw(verb, path.replace("/v2/", `/${version}/`), body, happening.token);
            assert.equal(answer.status, 200, answer.text);
            const [event, ...more] = await eventsAfter(world, before);
            assert.ok(event, "there is no event");
            assert.deepEqual(more, []);

            const said = answer.text === "" ? {} : parse(answer.text);
            const { type, audience } = getOption(method, events);
            const isEmpty = method.output.typeName === EmptySchema.typeName;
            const schema = isEmpty ? method.input : method.output;
            const wireType = schema.typeName.replace("platform.", root).replace(".v2.", `.${version}.`);
            const template = (getOption(method, http).pattern.value as string).replace(/\/\{.*$/, "").replace("/v2/", `/${version}/`);
            assert.equal(event.type, `${prefix}.${type}`);
            assert.equal(event.source, world.baseUrl + template);
            assert.equal(event.subject, happening.subject(said));
            assert.equal(event.group_uid, happening.group(said));
            assert.equal(event.time, world.clock.now().toISOString());
            assert.equal(event.audience, audience === Audience.CUSTOMER ? "customer" : "internal");
            assert.equal(event.body_type, profile === "" || wireType.startsWith("holt.") ? wireType : wireType.replace(".v1.", "."));
            assert.deepEqual(parse(event.extensions), happening.extensions?.(said) ?? {});
            assert.match(event.id, /^[0-9a-f-]{36}$/);
            const told = isEmpty ? happening.request : toldOf(method, said);
            assertEnvelope(event, schema, told, happening.isAnonymous ? undefined : world.owner.uid);
          });
        }
      }

      it("name the version and package under which gRPC was called", async () => {
        for (const version of versions) {
          for (const packageRoot of new Set(["platform.", root])) {
            const before = await lastSeq(world);
            const method = renamed(GroupsService.method.createGroup, `${packageRoot}iam.${version}.GroupsService`);
            const { uid } = answerOf(await world.grpc.call(method, { parent: world.orgUid, group: { name: "x" } }, world.owner.token));
            const [event, ...more] = await eventsAfter(world, before);
            assert.deepEqual([event?.subject, more], [uid, []]);
            assert.equal(event?.source, `${world.baseUrl}/iam/${version}/groups`);
            assert.equal(event?.body_type, `${root}iam.${version}.Group`);
          }
        }
      });

      if (profile !== "") return;

      for (const { name, method } of evented) {
        it(`${name} tells nothing where it fails`, async () => {
          const request = fromJson(method.input, await failingRequest(world, name, method));
          const robot = await world.robot(world.orgUid);
          const before = await lastSeq(world);
          for (const token of [world.owner.token, robot.token, "garbage"]) {
            for (const client of [world.rest, world.grpc]) assert.equal((await client.call(method, request, token)).ok, false);
          }
          assert.deepEqual(await eventsAfter(world, before), []);
        });
      }

      it("are not made by reads, deletions of what is gone, registrations of who is known, or exchanges", async () => {
        const robot = await world.robot(world.orgUid);
        await world.user("known");
        const before = await lastSeq(world);
        await world.user("known");
        await world.signIn(robot.uid);
        await world.narrow(robot, {});
        await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: `${world.orgUid}/0123456789abcdef` });
        for (const sample of samples) await world.raw("GET", collectionOf(sample));
        for (const path of [`/iam/v2/groups/${world.orgUid}`, "/iam/v2/identities:lookupIdentity?issuer=a&subject=b", "/auth/v1/ok"])
          assert.equal((await world.raw("GET", path)).status, 200);
        assert.deepEqual(await eventsAfter(world, before), []);
      });

      it("say who acted: the identity, and by which claims it signed in", async () => {
        const group = await world.group(world.orgUid);
        const user = await world.user("actor");
        await world.bind(user.uid, await builtInRole(world, "owner"), group);
        const before = await lastSeq(world);
        await world.raw("POST", `/iam/v2/groups/${group}`, { name: "made" }, user.token);
        const [event] = await eventsAfter(world, before);
        const { actor } = parse(event?.data ?? "") as { actor: { subject: string; act: Record<string, string> } };
        assert.equal(actor.subject, user.uid);
        const { iss, sub, aud } = actor.act;
        assert.deepEqual({ iss, sub, aud }, { iss: world.issuer, sub: "actor", aud: world.baseUrl });
        for (const value of Object.values(actor.act)) assert.equal(typeof value, "string");
      });

      it("are in the order of their writes, which a failed one between them does not disturb", async () => {
        const before = await lastSeq(world);
        const made: string[] = [];
        for (let i = 0; i < 5; i++) {
          made.push(await world.group(world.orgUid, `g${i}`));
          await world.raw("POST", `/iam/v2/groups/${world.orgUid}`, { name: "NOT A NAME" });
        }
        assert.deepEqual(
          (await eventsAfter(world, before)).map(({ subject }) => subject),
          made,
        );
      });
    });
  }
}

/** How each evented operation is made to happen; an operation that is new to the contract has to be added here. */
async function happeningOf(world: World, name: string, method: DescMethodUnary): Promise<Happening> {
  const uidOf = ({ uid }: JsonObject) => textOf(uid);
  const group = await world.group(world.orgUid);
  const sample = samples.find((each) => each.service === method.parent);
  if (name === "platform.auth.v1.Auth/Register") return registration(world, method);
  if (name === "platform.iam.v2.IdentitiesService/UpdateIdentityMetadata") {
    const request = { identityMetadata: { company: `company ${Math.floor(world.clock.now().getTime())}`, hubspotUtk: "utk" } };
    return { method, request, subject: () => world.owner.uid, group: () => "" };
  }
  if (name === "platform.iam.v2.TermsService/AcceptTerms")
    return { method, request: { group, documentIds: ["sfdpa.v1", "skills-tos.v1"] }, subject: () => group, group: () => group };
  if (name === "platform.iam.v2.RoleBindingsService/BatchCreateRoleBindings") {
    const identities = ["a", "b"].map((each) => uidFromText(`${each} ${group}`));
    const requests = identities.map((identityUid) => ({ roleBinding: { identityUid } }));
    const request = { parent: group, roleUid: await builtInRole(world, "viewer"), requests };
    return { method, request, subject: () => group, group: () => group };
  }
  if (name in SCIM_REQUESTS) return scimCall(world, name, method);
  if (name === BATCH_DELETE) {
    const { provider, mapping } = await mappingIn(world);
    const request = { parent: provider, names: [mapping] };
    const extensions = () => ({ identityprovider: provider });
    return { method, request, subject: () => provider, group: () => rootOf(provider), extensions };
  }
  assert.ok(sample, `nobody says how ${name} is made to happen`);
  const place = await placeFor(world, sample, group);
  const given = await sample.make(world, place, "before");
  const extensionsOf = (uid: string) => ({
    extensions: () => (sample.parentKind === "IdentityProvider" ? { identityprovider: parentOf(uid) } : {}),
  });
  const own = { method, subject: uidOf, group: (answer: JsonObject) => sample.audienceOf(uidOf(answer)), ...extensionsOf(`${place}/x`) };
  if (method.name.startsWith("Create")) return { ...own, request: { parent: place, [fieldOf(sample)]: given } };
  const uid = textOf(parse((await world.raw("POST", `${collectionOf(sample)}/${place}`, given)).text).uid);
  if (method.name === "UpdateRepoReadme") return { ...own, request: { repoReadme: { uid, content: "# Readme" } } };
  if (method.name.startsWith("Update")) {
    const change = await sample.change(world, place);
    return { ...own, request: { [fieldOf(sample)]: { ...change, uid }, updateMask: Object.keys(change).join(",") } };
  }
  assert.equal(method, methodOf(sample, "Delete"), `nobody says how ${name} is made to happen`);
  // Nobody subscribes to a group that is gone.
  const audience = sample.kind === "Group" ? parentOf(uid) : sample.audienceOf(uid);
  return { method, request: { uid }, subject: () => uid, group: () => audience, ...extensionsOf(uid) };
}

const BATCH_DELETE = "platform.iam.v2.ExternalGroupRoleMappingsService/BatchDeleteExternalGroupRoleMappings";
/** What the calls about SCIM tokens are asked for, beside the identity provider and the current etag. */
const SCIM_REQUESTS: Readonly<Record<string, JsonObject>> = {
  "platform.iam.v2.IdentityProvidersService/GenerateScimToken": { neverExpires: true },
  "platform.iam.v2.IdentityProvidersService/RegenerateScimToken": { overlap: "60s" },
  "platform.iam.v2.IdentityProvidersService/RevokeScimToken": {},
  "platform.iam.v2.IdentityProvidersService/SetScimEnabled": { enabled: true },
};

async function scimCall(world: World, name: string, method: DescMethodUnary): Promise<Happening> {
  const organization = await world.group("", "with scim");
  await world.bind(uidFromText("a second owner"), await builtInRole(world, "owner"), organization);
  const uid = await providerIn(world, organization);
  const isFirst = name.endsWith("/GenerateScimToken");
  const etag = isFirst ? {} : parse((await world.raw("POST", `/iam/v2/identityProviders/${uid}:generateScimToken`, {})).text);
  const request = { identityProviderUid: uid, ...(needsEtag(method) && { etag: etag.etag ?? "" }), ...SCIM_REQUESTS[name] };
  return { method, request, subject: () => uid, group: () => organization };
}

function needsEtag({ input }: DescMethodUnary): boolean {
  return input.fields.some((field) => field.name === "etag");
}

async function mappingIn(world: World): Promise<{ provider: string; mapping: string }> {
  const sample = samples.find(({ kind }) => kind === "ExternalGroupRoleMapping");
  assert.ok(sample);
  const provider = await placeFor(world, sample, world.orgUid);
  const body = await sample.make(world, provider, "mapped");
  return { provider, mapping: textOf(parse((await world.raw("POST", `${collectionOf(sample)}/${provider}`, body)).text).uid) };
}

/** The part of an answer that subscribers may read. */
function toldOf({ output }: DescMethodUnary, { token: _, ...said }: JsonObject): JsonObject {
  const told = samples.find(({ schema }) => schema === output)?.told;
  return told === undefined ? said : Object.fromEntries(Object.entries(said).filter(([key]) => told.includes(key)));
}

/** Whoever registers is not known before, so the event has no actor; and joins no group without an invite. */
async function registration(world: World, method: DescMethodUnary): Promise<Happening> {
  const token = await world.proofOf(`newcomer ${++newcomers}`);
  return { method, request: {}, token, isAnonymous: true, subject: () => "", group: () => "" };
}
let newcomers = 0;

/** A request that even the owner is refused. */
async function failingRequest(world: World, name: string, method: DescMethodUnary): Promise<JsonObject> {
  const sample = samples.find((each) => each.service === method.parent);
  if (name === "platform.auth.v1.Auth/Register") return { code: "no invite" };
  if (name === "platform.iam.v2.TermsService/AcceptTerms") return { group: world.orgUid, documentIds: ["NOT AN ID"] };
  if (name === "platform.iam.v2.IdentitiesService/UpdateIdentityMetadata")
    return { identityMetadata: { company: "failing" }, updateMask: "nonsense" };
  if (name === "platform.iam.v2.RoleBindingsService/BatchCreateRoleBindings") {
    // The first is good, and made before the second is refused as the same.
    const roleBinding = { identityUid: uidFromText(name), roleUid: await builtInRole(world, "viewer") };
    return { parent: world.orgUid, requests: [{ roleBinding }, { roleBinding }] };
  }
  assert.ok(sample, `nobody says how ${name} fails`);
  if (name in SCIM_REQUESTS) return { identityProviderUid: `${world.orgUid}/0123456789abcdef`, ...(needsEtag(method) && { etag: "x" }) };
  if (name === BATCH_DELETE) return { parent: (await mappingIn(world)).provider, names: [`${world.orgUid}/0123456789abcdef`] };
  if (method.name.startsWith("Create")) return { parent: world.orgUid, [fieldOf(sample)]: {} };
  if (method.name === "UpdateRepoReadme") return { repoReadme: { uid: `${world.orgUid}/0123456789abcdef`, content: "text" } };
  if (method.name.startsWith("Update")) return { [fieldOf(sample)]: { uid: `${world.orgUid}/0123456789abcdef` } };
  return { uid: "malformed" };
}

/** The data is an envelope of exactly an actor and a body, and the body is the message and nothing else, under its proto names. */
function assertEnvelope({ data }: Event, schema: DescMessage, expected: JsonObject, actor: string | undefined): void {
  const envelope = parse(data) as { actor?: { subject: string; act: JsonObject }; body: JsonObject };
  assert.deepEqual(Object.keys(envelope), actor === undefined ? ["body"] : ["actor", "body"]);
  if (actor !== undefined) {
    assert.deepEqual(Object.keys(envelope.actor ?? {}), ["subject", "act"]);
    assert.equal(envelope.actor?.subject, actor);
  }
  const names = schema.fields.map(({ name }) => name);
  for (const key of Object.keys(envelope.body)) assert.ok(names.includes(key), `${key} is not a proto name of ${schema.typeName}`);
  assert.deepEqual(toJson(schema, fromJson(schema, envelope.body)), toJson(schema, fromJson(schema, expected)));
}

/** The method as a service of another name has it. */
function renamed<M extends DescMethodUnary>(method: M, typeName: string): M {
  const parent = { ...method.parent, typeName, methods: [] as M[] };
  const renamed = { ...method, parent };
  parent.methods.push(renamed);
  return renamed;
}

async function lastSeq({ store }: World): Promise<number> {
  const row = await store.reader.selectFrom("outbox").select("seq").orderBy("seq", "desc").limit(1).executeTakeFirst();
  return Number(row?.seq ?? 0);
}

function eventsAfter({ store }: World, seq: number): Promise<Event[]> {
  return store.reader.selectFrom("outbox").selectAll().where("seq", ">", seq).orderBy("seq").execute();
}
