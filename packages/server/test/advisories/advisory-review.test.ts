/** Tests the review of events: every transition, the rights that it needs, and final states. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import {
  Advisories,
  type AdvisoryEvent,
  type AdvisoryEventSchema,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { assertPrecondition, assertRefused } from "../harness/refusal.ts";
import { type Caller, describeWithWorld, type World } from "../harness/world.ts";

const v1 = Advisories.method;
const { PENDING, APPROVED, REQUEST_CHANGES, REJECTED } = ReviewStatus;
const STATES = { PENDING, APPROVED, REQUEST_CHANGES, REJECTED };
type State = keyof typeof STATES;
const FINAL: readonly State[] = ["APPROVED", "REJECTED"];
const LEGAL: Readonly<Record<State, readonly State[]>> = {
  PENDING: ["APPROVED", "REJECTED", "REQUEST_CHANGES"],
  REQUEST_CHANGES: ["PENDING", "APPROVED", "REJECTED"],
  APPROVED: [],
  REJECTED: [],
};
const TRANSITIONS = "PENDING → APPROVED | REJECTED | REQUEST_CHANGES, REQUEST_CHANGES → PENDING | APPROVED | REJECTED";
const fixed = { case: "fixed", value: { fixedVersion: "1.2-r0" } } as const;

describeWithWorld("the review of advisories' events", (world: World) => {
  let group: string;
  let author: Caller;
  let approver: Caller;
  before(async () => {
    group = await world.group(world.orgUid, "reviewed");
    const member = async (role: string) => {
      const robot = await world.robot(group);
      await world.bind(robot.uid, await builtInRole(world, role), group);
      return robot;
    };
    [author, approver] = [await member("advisories.creator"), await member("advisories.approver")];
  });

  async function eventIn(state: State, event: MessageInitShape<typeof AdvisoryEventSchema> = {}): Promise<AdvisoryEvent> {
    const advisory = {
      artifactType: "apk",
      artifactName: "openssl",
      events: [{ type: fixed, author: "ann", ...event, status: STATES[state] }],
    };
    const made = await world.must(v1.create, { parentId: group, advisory: advisory as never }, approver.token);
    return made.events[0] as AdvisoryEvent;
  }
  const update = (id: string, body: object, { token }: Caller = approver) =>
    world.raw("PUT", `/vulnerabilities/v1/advisory_events/${id}`, body, token);
  const stored = async ({ id }: AdvisoryEvent) => {
    const { items } = await world.must(v1.listAdvisoryEvents, { parentId: id.slice(0, id.lastIndexOf("/")) }, author.token);
    return items.find((item) => item.id === id) as AdvisoryEvent;
  };

  for (const from of Object.keys(STATES) as State[])
    for (const to of Object.keys(STATES) as State[]) {
      const isLegal = LEGAL[from].includes(to);
      test(`a review from ${from} to ${to} ${from === to ? "changes nothing" : isLegal ? "succeeds" : "is refused with the allowed transitions"}`, async () => {
        const event = await eventIn(from);
        const answer = await update(event.id, { status: to });
        if (from === to || isLegal) assert.equal(answer.status, 200, answer.text);
        else
          assertPrecondition(
            answer,
            "EVENT_REVIEW_STATE",
            `an event in state ${from} is final and cannot be changed; the allowed transitions are ${TRANSITIONS}`,
          );
        assert.equal((await stored(event)).status, isLegal ? STATES[to] : STATES[from]);
      });
      test(`without the right to approve, a review from ${from} to ${to} ${isLegal && to === "PENDING" ? "succeeds" : "is refused"}`, async () => {
        const event = await eventIn(from);
        const answer = await update(event.id, { status: to }, author);
        if (from === to || (isLegal && to === "PENDING")) assert.equal(answer.status, 200, answer.text);
        else assertRefused(answer, isLegal ? Code.PERMISSION_DENIED : Code.FAILED_PRECONDITION);
        assert.equal((await stored(event)).status, to === "PENDING" && isLegal ? PENDING : STATES[from]);
      });
    }

  for (const state of Object.keys(STATES) as State[]) {
    test(`the content of an event in state ${state} can${FINAL.includes(state) ? "not" : ""} be changed`, async () => {
      const event = await eventIn(state);
      const answer = await update(event.id, { fixed: { fixedVersion: "2.0" }, findings: "AQID", issue: "https://example.com/1" }, author);
      if (FINAL.includes(state)) assertRefused(answer, Code.FAILED_PRECONDITION);
      else assert.equal(answer.status, 200, answer.text);
      const after = await stored(event);
      const version = after.type.case === "fixed" ? after.type.value.fixedVersion : "";
      assert.deepEqual([version, after.status], [FINAL.includes(state) ? "1.2-r0" : "2.0", STATES[state]]);
    });

    test(`creating an event in state ${state} ${state === "PENDING" ? "does not need" : "needs"} the right to approve`, async () => {
      const advisory = { artifactType: "apk", artifactName: "curl", events: [{ type: fixed, status: STATES[state] }] };
      for (const { rest, grpc } of [world])
        for (const client of [rest, grpc]) {
          const code = codeOf(await client.call(v1.create, { parentId: group, advisory: advisory as never }, author.token));
          assert.equal(code, state === "PENDING" ? 0 : Code.PERMISSION_DENIED);
        }
      const event = await eventIn("PENDING");
      const parentId = event.id.slice(0, event.id.lastIndexOf("/"));
      const added = { parentId, advisoryEvent: { type: fixed, status: STATES[state] } } as never;
      assert.equal(
        codeOf(await world.rest.call(v1.createAdvisoryEvent, added, author.token)),
        state === "PENDING" ? 0 : Code.PERMISSION_DENIED,
      );
      assert.equal(codeOf(await world.rest.call(v1.createAdvisoryEvent, added, approver.token)), 0);
    });
  }

  test("a decision changes nothing but the state, and records its reviewer", async () => {
    const findings = new Uint8Array([1, 2, 3]);
    const event = await eventIn("PENDING", { findings, issue: "https://example.com/1", reviewer: "asked" });
    world.clock.advance(1000);
    await update(event.id, { status: "APPROVED" });
    const after = await stored(event);
    assert.deepEqual(after, { ...event, status: APPROVED, reviewer: approver.uid });
    const named = await eventIn("PENDING");
    await update(named.id, { status: "REJECTED", reviewer: "the board" });
    assert.equal((await stored(named)).reviewer, "the board");
  });

  test("a whole event replaces the stored one, without the fields that it leaves out", async () => {
    const event = await eventIn("PENDING", { findings: new Uint8Array([1, 2, 3]), issue: "https://example.com/1" });
    assert.equal((await update(event.id, { fixed: { fixedVersion: "2.0" } })).status, 200);
    const after = await stored(event);
    assert.deepEqual([after.findings.length, after.issue, after.status, after.author], [0, undefined, PENDING, event.author]);
    const { id, author: writer } = after;
    const whole = { id, author: writer, type: fixed, issue: "https://example.com/2" };
    const answer = answerOf(await world.grpc.call(v1.updateAdvisoryEvent, whole, approver.token));
    assert.deepEqual(await stored(event), answer);
    assert.equal(answer.issue, "https://example.com/2");
  });

  test("a decision changes the advisory's update time, and repeating it does not", async () => {
    const event = await eventIn("PENDING");
    const uid = event.id.slice(0, event.id.lastIndexOf("/"));
    const timeOf = async () => (await world.must(AdvisoriesService.method.getAdvisory, { uid }, author.token)).updateTime;
    const before = await timeOf();
    world.clock.advance(1000);
    await update(event.id, { status: "APPROVED" });
    const approved = await timeOf();
    assert.notDeepEqual(approved, before);
    world.clock.advance(1000);
    assert.equal((await update(event.id, { status: "APPROVED" })).status, 200);
    assert.deepEqual(await timeOf(), approved);
  });

  test("only approvers can change the fields that an approved event is about", async () => {
    const uidOf = ({ id }: AdvisoryEvent) => id.slice(0, id.lastIndexOf("/"));
    const change = (uid: string, body: object, { token }: Caller) =>
      world.raw("PUT", `/vulnerabilities/v1/advisories/${uid}`, { artifactType: "apk", artifactName: "openssl", ...body }, token);
    const approved = uidOf(await eventIn("APPROVED"));
    const changes = [
      ...[{ artifactName: "curl" }, { artifactType: "deb" }, { artifactArchitecture: "x86_64" }, { aliases: ["CVE-2026-0001"] }],
      ...[{ componentName: "stdlib" }, { componentType: "npm" }, { componentLocation: "/usr/bin/x" }],
      ...[{ advisoryId: "CGA-review-other" }, { legacyAdvisoryID: "OLD-1" }],
    ];
    for (const body of changes) assertRefused(await change(approved, body, author), Code.PERMISSION_DENIED);
    assert.equal((await change(approved, { author: "bob", componentName: "" }, author)).status, 200);
    for (const body of changes) assert.equal((await change(approved, body, approver)).status, 200, JSON.stringify(body));
    for (const state of ["PENDING", "REQUEST_CHANGES", "REJECTED"] as const)
      assert.equal((await change(uidOf(await eventIn(state)), { artifactName: `curl-${state}` }, author)).status, 200, state);
  });

  test("exactly one of many concurrent decisions succeeds, and the others get an error", async () => {
    const event = await eventIn("PENDING");
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => update(event.id, { status: i % 2 === 0 ? "APPROVED" : "REJECTED", reviewer: `reviewer ${i}` })),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) if (answer.status !== 200) assertRefused(answer, Code.FAILED_PRECONDITION);
    const winner = answers.findIndex(({ status }) => status === 200);
    const { status, reviewer } = await stored(event);
    assert.deepEqual([status, reviewer], [winner % 2 === 0 ? APPROVED : REJECTED, `reviewer ${winner}`]);
  });

  test("concurrently added events are all stored", async () => {
    const event = await eventIn("PENDING");
    const parentId = event.id.slice(0, event.id.lastIndexOf("/"));
    const add = (i: number) =>
      world.must(v1.createAdvisoryEvent, { parentId, advisoryEvent: { type: fixed, author: `author ${i}` } as never }, author.token);
    const added = await Promise.all(Array.from({ length: 10 }, (_, i) => add(i)));
    const { items } = await world.must(v1.listAdvisoryEvents, { parentId }, author.token);
    assert.deepEqual(new Set(items.map(({ id }) => id)), new Set([event, ...added].map(({ id }) => id)));
    const shown = await world.must(AdvisoriesService.method.getAdvisory, { uid: parentId }, author.token);
    assert.deepEqual(
      shown.events.map(({ uid }) => uid),
      items.map(({ id }) => id),
    );
  });

  test("an unknown event and an event of an unknown advisory are not found", async () => {
    const event = await eventIn("PENDING");
    const advisory = event.id.slice(0, event.id.lastIndexOf("/"));
    for (const [id, kind] of [
      [`${advisory}/0000000000000000`, "AdvisoryEvent"],
      [`${group}/0000000000000000/0000000000000000`, "Advisory"],
    ] as const) {
      const { details } = assertRefused(await update(id, { status: "APPROVED" }), Code.NOT_FOUND);
      assert.equal(details[1]?.resourceType, `vulnerabilities.holt.dev/${kind}`);
    }
    assertRefused(await update("nonsense", {}), Code.NOT_FOUND);
  });

  test("rights at one group do not permit changes in another", async () => {
    const stranger = await world.robot(await world.group(world.orgUid, "elsewhere"), [
      Capability.CAP_ADVISORIES_UPDATE,
      Capability.CAP_ADVISORIES_APPROVE,
      Capability.CAP_ADVISORIES_LIST,
    ]);
    const event = await eventIn("PENDING");
    assertRefused(await update(event.id, { status: "APPROVED" }, stranger), Code.PERMISSION_DENIED);
    assert.equal((await stored(event)).status, PENDING);
  });
});
