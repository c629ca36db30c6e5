/** Reads the secdb of Alpine and Wolfi, which lists per package and version the vulnerabilities that the version fixes. Pure. */
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { aliasesOf } from "./aliases.ts";
import { type ReadContext, readEach } from "./context.ts";
import { child, elementsOf, entriesOf, isAbsent, type Node, nameOf } from "./fields.ts";
import { type AdvisoryRecord, apkAdvisory, type EventRecord } from "./record.ts";

/** The version that means that no version was ever affected. */
const NEVER_AFFECTED = "0";

export function isSecdb(document: Node): boolean {
  const [first] = Array.isArray(child(document, "packages").value) ? elementsOf(child(document, "packages")) : [];
  return first === undefined
    ? !isAbsent(child(document, "reponame")) && !isAbsent(child(document, "packages"))
    : !isAbsent(child(first, "pkg"));
}

export function readSecdb(document: Node, context: ReadContext): AdvisoryRecord[] {
  return readEach(elementsOf(child(document, "packages")), context, (element) => {
    const node = child(element, "pkg");
    return packageAdvisories(nameOf(child(node, "name")), child(node, "secfixes"), context);
  }).flat();
}

function packageAdvisories(artifactName: string, secfixes: Node, context: ReadContext): AdvisoryRecord[] {
  const known = new Map<string, { aliases: readonly string[]; events: EventRecord[] }>();
  for (const [version, list] of entriesOf(secfixes)) {
    readEach(elementsOf(list), context, (node) => {
      // One string can have several names of a vulnerability.
      const [id = "", ...others] = nameOf(node).split(/\s+/);
      const aliases = [...new Set([id, ...others, ...aliasesOf(id)])];
      const advisory = known.get(id) ?? { aliases, events: [] };
      advisory.events.push({ time: context.now, isOwnTime: false, type: typeOf(nameOf(list.withValue(version))) });
      known.set(id, { ...advisory, aliases: [...new Set([...advisory.aliases, ...aliases])] });
    });
  }
  return [...known].map(([advisoryId, { aliases, events }]) => apkAdvisory(artifactName, { advisoryId, aliases, events }));
}

function typeOf(version: string): EventRecord["type"] {
  if (version !== NEVER_AFFECTED) return { case: "fixed", value: { fixedVersion: version } };
  return {
    case: "falsePositiveDetermination",
    value: { type: FalsePositive.COMPONENT_VULNERABILITY_MISMATCH, note: "No version is affected, as the secdb says." },
  };
}
