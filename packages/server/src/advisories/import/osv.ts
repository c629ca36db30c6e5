/** Reads OSV records as advisories, one per affected package. Pure. */
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { type Affected, NEVER_AFFECTED_NOTE, type RangeEvent, versionsOutside } from "../model/affected.ts";
import { advisoryIdFromOsv } from "../model/osv-id.ts";
import { aliasesOf } from "./aliases.ts";
import { type ReadContext, readEach } from "./context.ts";
import { child, elementsOf, isAbsent, MAX_NAME, type Node, nameOf, optionalName } from "./fields.ts";
import { packageFromUrl, typeOfEcosystem } from "./package-name.ts";
import { type AdvisoryRecord, BadRecord, type EventRecord } from "./record.ts";
import { optionalTime, timeOf } from "./times.ts";

const MAX_AFFECTED = 20_000;

export function isOsv(document: Node): boolean {
  return (
    ["id", "modified", "affected", "schema_version", "withdrawn", "published"].filter((name) => !isAbsent(child(document, name))).length >=
    2
  );
}

export function readOsv(document: Node, context: ReadContext): AdvisoryRecord[] {
  const advisoryId = advisoryIdFromOsv(nameOf(child(document, "id")));
  const modified = timeOf(child(document, "modified"), context.now);
  const published = optionalTime(child(document, "published"), context.now) ?? modified;
  const withdrawn = optionalTime(child(document, "withdrawn"), context.now);
  const aliases = aliasesOf(advisoryId, child(document, "aliases"), child(document, "upstream"));
  const affected = elementsOf(child(document, "affected"), MAX_AFFECTED).filter((node) => !isAbsent(child(node, "package")));
  if (affected.length === 0) throw new BadRecord(`${document.pointer}/affected`, `${advisoryId} names no package`);
  return readEach(affected, context, (node) => ({
    advisoryId,
    aliases,
    ...artifactOf(child(node, "package")),
    artifactArchitecture: "",
    componentType: "",
    componentName: "",
    withdrawn,
    affected: { modified, entries: [affectedOf(node)] },
    events: [
      { time: published, isOwnTime: false, type: { case: "truePositiveDetermination", value: {} } },
      ...fixedVersionsOf(node).map((fixedVersion): EventRecord => {
        return {
          time: modified,
          isOwnTime: false,
          type: fixedVersion === NEVER_AFFECTED ? notAffected : { case: "fixed", value: { fixedVersion } },
        };
      }),
    ],
  }));
}

/** A range that is fixed in version 0 contains no version. */
const NEVER_AFFECTED = "0";
const notAffected = {
  case: "falsePositiveDetermination",
  value: { type: FalsePositive.UNSPECIFIED, note: NEVER_AFFECTED_NOTE },
} as const;

function artifactOf(node: Node): Pick<AdvisoryRecord, "artifactType" | "artifactName"> {
  const ecosystem = optionalName(child(node, "ecosystem"));
  if (ecosystem !== "") return { artifactType: typeOfEcosystem(ecosystem), artifactName: nameOf(child(node, "name")) };
  if (isAbsent(child(node, "purl"))) throw new BadRecord(node.pointer, "neither an ecosystem nor a package URL");
  const { type, name } = packageFromUrl(child(node, "purl"));
  return { artifactType: type, artifactName: name };
}

/** Listed versions of a package that no range contains. */
const MAX_VERSIONS = 5000;
/** Events of all ranges of a package. */
const MAX_RANGE_EVENTS = 1000;
/** Characters of all versions of a package, in ranges and listed. */
const MAX_VERSION_TEXT = 128 * 1024;

/** The ranges and versions of an element of `affected`, without ranges of commits. */
function affectedOf(node: Node): Affected {
  const of = child(node, "package");
  const ecosystem = optionalName(child(of, "ecosystem"));
  const ranges = rangesOf(node).map((range) => ({
    isSemver: child(range, "type").value === "SEMVER",
    events: elementsOf(child(range, "events"), MAX_RANGE_EVENTS).flatMap(rangeEventsOf),
  }));
  assertFewEvents(child(node, "ranges"), ranges);
  const list = child(node, "versions");
  const listed = elementsOf(list).map((version) => nameOf(version));
  const versions = versionsOutside(artifactOf(of).artifactType, ranges, listed);
  if (versions.length > MAX_VERSIONS) throw new BadRecord(list.pointer, `must have at most ${MAX_VERSIONS} versions outside of the ranges`);
  const texts = [...versions, ...ranges.flatMap(({ events }) => events.map(([, version]) => version))];
  if (texts.reduce((sum, { length }) => sum + length, 0) > MAX_VERSION_TEXT)
    throw new BadRecord(node.pointer, `the versions of a package must have at most ${MAX_VERSION_TEXT} characters`);
  return { ecosystem, ranges, versions };
}

/** Before they are compared, which takes longer with each event. */
function assertFewEvents({ pointer }: Node, ranges: Affected["ranges"]): void {
  if (ranges.reduce((sum, { events }) => sum + events.length, 0) > MAX_RANGE_EVENTS)
    throw new BadRecord(pointer, `must have at most ${MAX_RANGE_EVENTS} events in all ranges of a package`);
}

function rangesOf(affected: Node): readonly Node[] {
  return elementsOf(child(affected, "ranges"), MAX_RANGE_EVENTS).filter((range) => child(range, "type").value !== "GIT");
}

function rangeEventsOf(event: Node): readonly RangeEvent[] {
  return RANGE_EVENTS.flatMap((kind): RangeEvent[] => {
    const version = optionalName(child(event, kind), MAX_NAME);
    return version === "" ? [] : [[kind, version]];
  });
}

const RANGE_EVENTS = ["introduced", "fixed", "last_affected"] as const;

/** Without duplicates. Skips ranges of commits. */
function fixedVersionsOf(affected: Node): readonly string[] {
  const events = rangesOf(affected)
    .flatMap((range) => elementsOf(child(range, "events")))
    .map((event) => child(event, "fixed"));
  return [...new Set(events.filter((fixed) => !isAbsent(fixed)).map((fixed) => nameOf(fixed)))];
}
