/** The review of advisories in a terminal, one question after the other. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type CommandLineWorld, startCommandLineWorld } from "./harness.ts";
import { runInTerminal, withoutTerminal } from "./terminal.ts";

describe("holt advisories review --interactive", () => {
  const world = {} as CommandLineWorld;
  before(async () => {
    Object.assign(world, await startCommandLineWorld());
    const { CAP_ADVISORIES_CREATE: CREATE, CAP_ADVISORIES_UPDATE: UPDATE, CAP_ADVISORIES_APPROVE: APPROVE } = Capability;
    await world.bind(world.owner.uid, await world.role(world.orgUid, [CREATE, UPDATE, APPROVE]), world.orgUid);
  });
  after(() => world[Symbol.asyncDispose]());

  const review = (artifact: string) => ["advisories", "review", "--group", "my-org", "--artifact", artifact];
  const waiting = (artifact: string) => world.holt.json<{ event: string; state: string }[]>(review(artifact));
  const reviewOf = (artifact: string) => [...review(artifact), "-i"];

  /** An advisory with three events that wait: a detection, a fixed version and a note. */
  async function createAdvisory(artifactName: string): Promise<void> {
    const events = [{ detection: { manual: {} } }, { fixed: { fixedVersion: "3.5.0-r1" } }, { fixNotPlanned: { note: "old" } }];
    const advisory = { artifactType: "apk", artifactName, aliases: ["CVE-2026-0007"], events };
    const { status, text } = await world.raw("POST", "/vulnerabilities/v1/advisories", { parentId: world.orgUid, advisory });
    assert.equal(status, 200, text);
  }

  test("each event is shown with a question, and the answer decides it or skips it", { skip: withoutTerminal }, async () => {
    await createAdvisory("openssl");
    const question = /\[q\]uit\? /;
    const { status, shown } = await runInTerminal(world.holt, reviewOf("openssl"), {
      env: { NO_COLOR: "1" },
      answers: [
        [question, "approve\r"],
        [question, "s\r"],
        [question, "r\r"],
      ],
    });
    assert.equal(status, 0, shown);
    assert.match(shown, /openssl +\(1 of 3\)/);
    assert.match(shown, /\(3 of 3\)[\s\S]*These were all events\./);
    assert.deepEqual(shown.match(/^ {2}(approved|rejected|sent back)(?=\r?$)/gm), ["  approved", "  rejected"]);
    assert.equal((await waiting("openssl")).length, 1);
  });

  test("events are sent back to their authors, and the review ends early with q", { skip: withoutTerminal }, async () => {
    await createAdvisory("curl");
    const question = /\[q\]uit\? /;
    const answers = [
      [question, "c\r"],
      [question, "q\r"],
    ] as const;
    const { status, shown } = await runInTerminal(world.holt, reviewOf("curl"), { answers });
    assert.equal(status, 0, shown);
    assert.match(shown, /sent back/);
    assert.doesNotMatch(shown, /These were all events/);
  });

  test("Ctrl-C at a question of the review decides nothing more", { skip: withoutTerminal }, async () => {
    await createAdvisory("zlib");
    const { status, shown } = await runInTerminal(world.holt, reviewOf("zlib"), { answers: [[/\[q\]uit\? /, "\u0003"]] });
    assert.equal(status, 130, shown);
    assert.equal((await waiting("zlib")).length, 3);
  });

  test("a review without a terminal is refused with the way to decide without questions", async () => {
    const { status, stderr } = await world.holt.run(reviewOf("nothing"));
    assert.equal(status, 2);
    assert.match(stderr, /nobody can answer: .*\n {2}→ decide with --approve or --reject/);
  });
});
