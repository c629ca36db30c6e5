/** Reads SPDX 2 documents in JSON (SPDX specification 2.3). Pure. */
import { type Json, recordOf, recordsOf } from "../../lib/is-record.ts";
import { ComponentGraphBuilder, EdgeType, type ParsedSbom, textOf, textsOf } from "./component-graph.ts";

const { DESCRIBES, CONTAINS, DEPENDS_ON, GENERATED_FROM, UNKNOWN } = EdgeType;

/** Each relationship by its type; the second value is true where the related element is the subject. */
const EDGES: ReadonlyMap<string, readonly [EdgeType, isReversed: boolean]> = new Map([
  ["DESCRIBES", [DESCRIBES, false]],
  ["DESCRIBED_BY", [DESCRIBES, true]],
  ["CONTAINS", [CONTAINS, false]],
  ["CONTAINED_BY", [CONTAINS, true]],
  ["DEPENDS_ON", [DEPENDS_ON, false]],
  ["DEPENDENCY_OF", [DEPENDS_ON, true]],
  ["GENERATED_FROM", [GENERATED_FROM, false]],
  ["GENERATES", [GENERATED_FROM, true]],
]);

export function readSpdx2(sbom: Json): ParsedSbom {
  const creators = textsOf(recordOf(sbom.creationInfo)?.creators);
  const builder = new ComponentGraphBuilder();
  for (const each of recordsOf(sbom.packages)) builder.addPackage(packageOf(each));
  for (const { SPDXID, fileName, fileTypes } of recordsOf(sbom.files))
    builder.addFile({ id: textOf(SPDXID), name: textOf(fileName), types: textsOf(fileTypes) });
  addEdges(sbom, builder);
  return {
    name: textOf(sbom.name),
    description: textOf(sbom.comment),
    tool: namesOf(creators, "Tool"),
    authors: [namesOf(creators, "Organization"), namesOf(creators, "Person")].filter((names) => names !== "").join(", "),
    format: textOf(sbom.spdxVersion),
    generatedAt: textOf(recordOf(sbom.creationInfo)?.created),
    graph: builder.graph,
  };
}

function packageOf({ SPDXID, name, versionInfo, licenseConcluded, licenseDeclared, description, summary, externalRefs }: Json) {
  const url = [...recordsOf(externalRefs)].find(({ referenceType }) => referenceType === "purl");
  return {
    id: textOf(SPDXID),
    name: textOf(name),
    version: textOf(versionInfo),
    license: textOf(licenseConcluded) || textOf(licenseDeclared),
    description: textOf(description) || textOf(summary),
    purl: textOf(url?.referenceLocator),
  };
}

function addEdges(sbom: Json, builder: ComponentGraphBuilder): void {
  const described = new Set<string>();
  for (const { spdxElementId, relationshipType, relatedSpdxElement } of recordsOf(sbom.relationships)) {
    const [type, isReversed] = EDGES.get(textOf(relationshipType)) ?? [UNKNOWN, false];
    const [subject, object] = isReversed ? [relatedSpdxElement, spdxElementId] : [spdxElementId, relatedSpdxElement];
    // NONE stands for no element.
    if (textOf(subject) === "" || textOf(object) === "") continue;
    if (type === DESCRIBES) described.add(textOf(object));
    builder.addEdge(textOf(subject), type, textOf(object));
  }
  // An older spelling of the same relationship.
  for (const id of textsOf(sbom.documentDescribes)) if (!described.has(id)) builder.addEdge(textOf(sbom.SPDXID), DESCRIBES, id);
}

/** Creators are written `Tool: syft-1.2`. */
function namesOf(creators: readonly string[], kind: string): string {
  return creators
    .filter((creator) => creator.startsWith(`${kind}:`))
    .map((creator) => creator.slice(kind.length + 1).trim())
    .join(", ");
}
