/** Generates advisories that resemble those of feeds: most have common values, a few have rare ones, with four events on average. */
import { create } from "@bufbuild/protobuf";
import {
  type Advisory,
  type AdvisoryEvent,
  AdvisoryEventSchema,
  AdvisorySchema,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { newAdvisoryId } from "../../packages/server/src/advisories/model/advisory-id.ts";
import { newEventUid } from "../../packages/server/src/advisories/model/event-uid.ts";
import { timestampFromDate } from "../../packages/server/src/lib/clock.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { anyOf, timeOf } from "../data/rows.ts";

/** Probability of a rare value. */
const RARE = 0.001;
const NAMES = 20_000;
const YEARS = 10;
const HOUR_MS = 3_600_000;

/** @param progress position among all advisories, from 0 (oldest) to 1 (newest) */
export function sampleAdvisory(parent: string, progress: number): Advisory {
  const id = newUid(parent);
  const time = timeOf(progress);
  const artifactName = Math.random() < 0.05 ? "linux" : nameOf(Math.floor(NAMES * Math.random() ** 3));
  const advisory = create(AdvisorySchema, {
    id,
    advisoryId: newAdvisoryId("BENCH"),
    artifactType: mostly("apk", "oci"),
    artifactName,
    artifactArchitecture: mostly(anyOf(["x86_64", "aarch64"]), "riscv64"),
    componentName: anyOf([
      "golang.org/x/net",
      "golang.org/x/crypto",
      "stdlib",
      "openssl",
      "log4j-core",
      nameOf(Math.floor(NAMES * Math.random())),
    ]),
    componentType: mostly(anyOf(["go-module", "npm", "java-archive", "python"]), "rust-crate"),
    componentLocation: `/usr/bin/${artifactName}-${Math.floor(Math.random() * 3)}`,
    aliases: [cve(), `GHSA-${randomId(4)}-${randomId(4)}-${randomId(4)}`],
    author: "robot@example.com",
    createdAt: timestampFromDate(time),
    updatedAt: timestampFromDate(time),
  });
  const types = historyOf();
  for (const [i, type] of types.entries()) advisory.events.push(sampleEvent(advisory, type, new Date(time.getTime() + i * HOUR_MS), i));
  return advisory;
}

type Type = AdvisoryEvent["type"];

const scan = { scanner: "grype", subpackageName: "main", componentId: randomId(16), componentName: "stdlib", componentVersion: "1.20.1" };
const detection = {
  case: "detection",
  value: { type: { case: "scanv1", value: { ...scan, componentLocation: "/usr/bin/main" } } },
} as unknown as Type;
const confirmed = { case: "truePositiveDetermination", value: { note: "The vulnerable function is called." } } as Type;
const fixed = { case: "fixed", value: { fixedVersion: "1.2.3-r4" } } as Type;
const refuted = { case: "falsePositiveDetermination", value: { type: 3, note: "The version that is used does not have it." } } as Type;
const pending = { case: "pendingUpstreamFix", value: { note: "The project has not released the fix." } } as Type;
const patched = { case: "patched", value: { patchedVersions: ["1.2.3"] } } as Type;

/** Three to six event types, about four on average. */
function historyOf(): Type[] {
  const end = mostly(anyOf([fixed, fixed, refuted, pending]), patched);
  return [
    ...Array.from({ length: 1 + Math.floor(Math.random() * 3) }, () => detection),
    ...(Math.random() < 0.5 ? [confirmed, pending] : [confirmed]),
    end,
  ];
}

function sampleEvent(advisory: Advisory, type: Type, time: Date, index: number): AdvisoryEvent {
  const author = index === 0 ? "robot@example.com" : mostly(anyOf(["ann@example.com", "robot@example.com"]), "guest@example.com");
  const event = create(AdvisoryEventSchema, {
    timestamp: timestampFromDate(time),
    type,
    author,
    reviewer: mostly("reviewer@example.com", "auditor@example.com"),
    status: Math.random() < RARE ? ReviewStatus.REQUEST_CHANGES : ReviewStatus.APPROVED,
  });
  event.id = newEventUid(advisory.id, event, advisory.events);
  return event;
}

/** One of 100,000 CVE ids. */
function cve(): string {
  return `CVE-${2026 - Math.floor(Math.random() * YEARS)}-${10_000 + Math.floor(Math.random() * 10_000)}`;
}

export function nameOf(number: number): string {
  return `package-${number.toString(36)}`;
}

function mostly<T>(usual: T, rare: T): T {
  return Math.random() < RARE ? rare : usual;
}

function randomId(length: number): string {
  return Array.from({ length }, () => anyOf([..."23456789cfghjmpqrvwx"])).join("");
}
