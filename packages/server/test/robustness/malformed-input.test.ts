/** NUL and malformed input get the same answer on both stores over every protocol, and never an internal error. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hasOption, type JsonObject } from "@bufbuild/protobuf";
import { http } from "@holt/api";
import { Code } from "../../src/lib/errors.ts";
import { samples, startSampleWorld } from "../conformance/samples.ts";
import { type Client, codeOf } from "../harness/clients.ts";
import { operations } from "../harness/contract.ts";
import { storeNames } from "../harness/harness.ts";
import {
  messageOfNul,
  messagesWithOneNul,
  placed,
  protocolRequests,
  sendMalformed,
  withNulInEachString,
} from "../harness/robustness/malformed-requests.ts";
import { collectionOf, createParent } from "../harness/samples.ts";
import { startDirectory } from "../harness/scim/directory.ts";
import type { World } from "../harness/world.ts";

/** Codes that say that the server is at fault. */
const FAULTS: readonly number[] = [Code.INTERNAL, Code.UNKNOWN, Code.UNAVAILABLE, Code.DATA_LOSS];

describe("NUL and malformed input", () => {
  let worlds: World[] = [];
  before(async () => {
    worlds = await Promise.all(storeNames.map((store) => startSampleWorld({ store })));
  });
  after(() => Promise.all(worlds.map((world) => world[Symbol.asyncDispose]())));

  /** Runs the work on both stores and compares the answers. */
  async function same(what: string, work: (world: World) => Promise<number>, isFault: (answer: number) => boolean): Promise<void> {
    const [sqlite, postgres] = await Promise.all(worlds.map(work));
    if (sqlite !== postgres || isFault(sqlite ?? 0)) problems.push(`${what}: ${sqlite} on SQLite, ${postgres} on PostgreSQL`);
  }
  const problems: string[] = [];
  const assertNoProblems = () => assert.deepEqual(problems.splice(0), []);

  for (const protocol of ["rest", "grpc"] as const) {
    test(`every operation answers NUL alike over ${protocol}`, async () => {
      for (const { name, method, isServed } of operations) {
        if (!isServed || (protocol === "rest" && !hasOption(method, http))) continue;
        for (const [i, message] of [messageOfNul(method.input), ...messagesWithOneNul(method.input)].entries()) {
          const work = async (world: World) => codeOf(await (world[protocol] as Client).call(method, message as never, world.token));
          await same(`${name}, message ${i}`, work, (code) => FAULTS.includes(code));
        }
      }
      assertNoProblems();
    });
  }

  test("Create answers NUL in each text of each resource alike", async () => {
    for (const sample of samples) {
      const prepared = await Promise.all(
        worlds.map(async (world) => {
          const group = await world.group(world.orgUid, `nul-${sample.title}`.replace(/[^a-z -]/g, "-"));
          const parent = await createParent(world, sample, group);
          return { world, parent, bodies: [...withNulInEachString((await sample.body(world, parent, "nul")) as JsonObject)] };
        }),
      );
      const count = prepared[0]?.bodies.length ?? 0;
      for (let i = 0; i < count; i++) {
        const work = async (world: World) => {
          const { parent, bodies } = prepared.find((other) => other.world === world)!;
          return (await world.raw("POST", `${collectionOf(sample)}/${parent}`, bodies[i])).status;
        };
        await same(`${sample.title}, text ${i}`, work, (status) => status >= 500);
      }
    }
    assertNoProblems();
  });

  test("every other protocol answers NUL and malformed input alike", async () => {
    const places = new Map(
      await Promise.all(
        worlds.map(async (world) => {
          await world.group(world.orgUid, "libraries");
          const { idpUid, token } = await startDirectory(world);
          return [world, { group: "my-org:libraries", uid: world.orgUid, scim: idpUid, scimToken: token }] as const;
        }),
      ),
    );
    for (const request of protocolRequests()) {
      const work = async (world: World) => (await sendMalformed(world, placed(request, places.get(world) ?? {}))).status;
      await same(
        `${request.method} ${request.path} ${request.body?.slice(0, 150) ?? ""}`,
        work,
        (status) => status >= 500 && status !== 501,
      );
    }
    assertNoProblems();
  });
});
