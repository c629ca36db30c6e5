/** Advisories as Wolfi and Chainguard write them in YAML, one file for each package: schema version 2, and version 1 with its VEX statuses. Pure. */
import type { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { aliasesOf } from "./aliases.ts";
import { type ReadContext, readEach } from "./context.ts";
import { child, elementsOf, entriesOf, isAbsent, type Node, nameOf, noteOf, optionalName } from "./fields.ts";
import { type AdvisoryRecord, apkAdvisory, BadRecord, type EventRecord, type EventType } from "./record.ts";
import { timeOf } from "./times.ts";
import { falsePositiveTypes, type VexStatus, vexEvents } from "./vex-status.ts";

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
      return read(id, aliasesOf(id, child(advisory, "aliases")), someOf(events, advisory));
    });
  // Version 1 has the id as the name of a list of statuses.
  return readEach(entriesOf(advisories), context, ([id, list]) => {
    const events = readEach(elementsOf(list), context, (entry) => entryEvents(entry, context.now)).flat();
    return read(nameOf(list.holding(id)), aliasesOf(id), someOf(events, list));
  });
}

function someOf(events: readonly EventRecord[], node: Node): readonly EventRecord[] {
  if (events.length === 0) throw new BadRecord(node.pointer, "it has no event that can be used");
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
      throw new BadRecord(`${event.pointer}/type`, `there is no type of event "${type}"`);
  }
}

function falsePositiveTypeOf(node: Node): FalsePositive {
  const name = nameOf(node);
  const type = falsePositiveTypes.get(name);
  if (type === undefined) throw new BadRecord(node.pointer, `there is no type of false positive "${name}"`);
  return type;
}

type Detection = NonNullable<Extract<EventType, { case: "detection" }>["value"]["type"]>;

function detectionOf(data: Node): Detection {
  const type = nameOf(child(data, "type"));
  const inner = child(data, "data");
  const text = (name: string) => optionalName(child(inner, name), 1000);
  switch (type) {
    case "manual":
      return { case: "manual", value: {} };
    case "nvdapi":
      return { case: "nvdapi", value: { cpeSearched: text("cpeSearched"), cpeFound: text("cpeFound") } };
    case "scan/v1":
      return {
        case: "scanv1",
        value: {
          scanner: text("scanner"),
          subpackageName: text("subpackageName"),
          componentId: text("componentID"),
          componentName: text("componentName"),
          componentVersion: text("componentVersion"),
          componentType: text("componentType"),
          componentLocation: text("componentLocation"),
        },
      };
    default:
      throw new BadRecord(`${data.pointer}/type`, `there is no type of detection "${type}"`);
  }
}

function entryEvents(entry: Node, now: number): readonly EventRecord[] {
  const status = nameOf(child(entry, "status"));
  if (!STATUSES.has(status)) throw new BadRecord(`${entry.pointer}/status`, `there is no status "${status}"`);
  const fixedVersion = child(entry, "fixed-version");
  const note = noteOf(child(entry, status === "not_affected" ? "impact" : "action"));
  const justification = optionalName(child(entry, "justification"));
  const statement = { status: status as VexStatus, justification, note, version: isAbsent(fixedVersion) ? "" : nameOf(fixedVersion) };
  return vexEvents(statement, timeOf(child(entry, "timestamp"), now), true, entry);
}
