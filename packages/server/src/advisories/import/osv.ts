/** Reads OSV records as advisories, one per affected package. Pure. */
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { advisoryIdFromOsv } from "../model/osv-id.ts";
import { aliasesOf } from "./aliases.ts";
import { type ReadContext, readEach } from "./context.ts";
import { child, elementsOf, isAbsent, type Node, nameOf, optionalName } from "./fields.ts";
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
  value: { type: FalsePositive.UNSPECIFIED, note: "No version is affected, as the OSV record says." },
} as const;

function artifactOf(node: Node): Pick<AdvisoryRecord, "artifactType" | "artifactName"> {
  const ecosystem = optionalName(child(node, "ecosystem"));
  if (ecosystem !== "") return { artifactType: typeOfEcosystem(ecosystem), artifactName: nameOf(child(node, "name")) };
  if (isAbsent(child(node, "purl"))) throw new BadRecord(node.pointer, "neither an ecosystem nor a package URL");
  const { type, name } = packageFromUrl(child(node, "purl"));
  return { artifactType: type, artifactName: name };
}

/** Without duplicates. Skips ranges of commits. */
function fixedVersionsOf(affected: Node): readonly string[] {
  const ranges = elementsOf(child(affected, "ranges")).filter((range) => child(range, "type").value !== "GIT");
  const events = ranges.flatMap((range) => elementsOf(child(range, "events"))).map((event) => child(event, "fixed"));
  return [...new Set(events.filter((fixed) => !isAbsent(fixed)).map((fixed) => nameOf(fixed)))];
}
