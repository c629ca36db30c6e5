/** Reads the YAML advisories of Wolfi and Chainguard, one file per package: schema version 2, and version 1 with VEX statuses. Pure. */
import type { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { VexStatus } from "../model/vex-status.ts";
import { aliasesOf } from "./aliases.ts";
import { type ReadContext, readEach } from "./context.ts";
import { child, elementsOf, entriesOf, isAbsent, type Node, nameOf, noteOf, optionalName } from "./fields.ts";
import { type AdvisoryRecord, apkAdvisory, BadRecord, type EventRecord, type EventType } from "./record.ts";
import { timeOf } from "./times.ts";
import { falsePositiveTypes, vexEvent } from "./vex-status.ts";

const STATUSES: ReadonlySet<string> = new Set(["not_affected", "affected", "fixed", "under_investigation"]);

export function isWolfi(document: Node): boolean {
  const isMarked = ["package", "schema-version"].some((name) => !isAbsent(child(document, name)));
  return isMarked && !isAbsent(child(document, "advisories"));
}

export function readWolfi(document: Node, context: ReadContext): AdvisoryRecord[] {
  const artifactName = nameOf(child(child(document, "package"), "name"));
  const advisories = child(document, "advisories");
  const read = (advisoryId: string, aliases: readonly string[], events: readonly EventRecord[]) =>
    apkAdvisory(artifactName, { advisoryId, aliases, events });
  if (Array.isArray(advisories.value))
    return readEach(elementsOf(advisories), context, (advisory) => {
      const id = nameOf(child(advisory, "id"));
      const events = readEach(elementsOf(child(advisory, "events")), context, (event) => eventOf(event, context.now));
      return read(id, aliasesOf(id, child(advisory, "aliases")), assertNotEmpty(events, advisory));
    });
  // Version 1 maps ids to lists of statuses.
  return readEach(entriesOf(advisories), context, ([id, list]) => {
    const events = readEach(elementsOf(list), context, (entry) => entryEvent(entry, context.now));
    return read(nameOf(list.withValue(id)), aliasesOf(id), assertNotEmpty(events, list));
  });
}

function assertNotEmpty(events: readonly EventRecord[], node: Node): readonly EventRecord[] {
  if (events.length === 0) throw new BadRecord(node.pointer, "no usable events");
  return events;
}

function eventOf(event: Node, now: number): EventRecord {
  return { time: timeOf(child(event, "timestamp"), now), isOwnTime: true, type: typeOf(event) };
}

function typeOf(event: Node): EventType {
  const data = child(event, "data");
  const note = noteOf(child(data, "note"));
  const type = nameOf(child(event, "type"));
  switch (type) {
    case "detection":
      return { case: "detection", value: { type: detectionOf(data) } };
    case "true-positive-determination":
      return { case: "truePositiveDetermination", value: { note } };
    case "fixed":
      return { case: "fixed", value: { fixedVersion: nameOf(child(data, "fixed-version")), note } };
    case "false-positive-determination":
      return { case: "falsePositiveDetermination", value: { type: falsePositiveTypeOf(child(data, "type")), note } };
    case "analysis-not-planned":
      return { case: "analysisNotPlanned", value: { note } };
    case "fix-not-planned":
      return { case: "fixNotPlanned", value: { note } };
    case "pending-upstream-fix":
      return { case: "pendingUpstreamFix", value: { note } };
    default:
      throw new BadRecord(`${event.pointer}/type`, `unknown event type "${type}"`);
  }
}

function falsePositiveTypeOf(node: Node): FalsePositive {
  const name = nameOf(node);
  const type = falsePositiveTypes.get(name);
  if (type === undefined) throw new BadRecord(node.pointer, `unknown type of false positive "${name}"`);
  return type;
}

type Detection = NonNullable<Extract<EventType, { case: "detection" }>["value"]["type"]>;

function detectionOf(data: Node): Detection {
  const type = nameOf(child(data, "type"));
  const inner = child(data, "data");
  const stringAt = (name: string) => optionalName(child(inner, name), 1000);
  switch (type) {
    case "manual":
      return { case: "manual", value: {} };
    case "nvdapi":
      return { case: "nvdapi", value: { cpeSearched: stringAt("cpeSearched"), cpeFound: stringAt("cpeFound") } };
    case "scan/v1":
      return {
        case: "scanv1",
        value: {
          scanner: stringAt("scanner"),
          subpackageName: stringAt("subpackageName"),
          componentId: stringAt("componentID"),
          componentName: stringAt("componentName"),
          componentVersion: stringAt("componentVersion"),
          componentType: stringAt("componentType"),
          componentLocation: stringAt("componentLocation"),
        },
      };
    default:
      throw new BadRecord(`${data.pointer}/type`, `unknown detection type "${type}"`);
  }
}

function entryEvent(entry: Node, now: number): EventRecord {
  const status = nameOf(child(entry, "status"));
  if (!STATUSES.has(status)) throw new BadRecord(`${entry.pointer}/status`, `unknown status "${status}"`);
  const fixedVersion = child(entry, "fixed-version");
  const note = noteOf(child(entry, status === "not_affected" ? "impact" : "action"));
  const justification = optionalName(child(entry, "justification"));
  const statement = { status: status as VexStatus, justification, note, version: isAbsent(fixedVersion) ? "" : nameOf(fixedVersion) };
  return vexEvent(statement, { time: timeOf(child(entry, "timestamp"), now), isOwnTime: true }, entry);
}
