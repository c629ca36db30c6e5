/** Reads SPDX 3 documents in JSON-LD, whose elements form one list. Pure. */
import { type Json, recordOf, recordsOf } from "../../lib/is-record.ts";
import { ComponentGraphBuilder, EdgeType, type ParsedSbom, textOf, textsOf } from "./component-graph.ts";

const { DESCRIBES, CONTAINS, DEPENDS_ON, GENERATED_FROM, UNKNOWN } = EdgeType;
const EDGES: ReadonlyMap<string, readonly [EdgeType, isReversed: boolean]> = new Map([
  ["describes", [DESCRIBES, false]],
  ["contains", [CONTAINS, false]],
  ["dependsOn", [DEPENDS_ON, false]],
  ["generates", [GENERATED_FROM, true]],
]);
const LICENSES = new Set(["hasConcludedLicense", "hasDeclaredLicense"]);

export function readSpdx3(sbom: Json): ParsedSbom {
  const elements = [...recordsOf(sbom["@graph"])];
  const byId = new Map(elements.map((element) => [idOf(element), element]));
  const licenses = licensesIn(elements, byId);
  const builder = new ComponentGraphBuilder();
  for (const element of elements) addElement(element, licenses, builder);
  const document = elements.find(({ type }) => type === "SpdxDocument") ?? {};
  const creation = recordOf(document.creationInfo) ?? byId.get(textOf(document.creationInfo)) ?? {};
  const namesOf = (ids: unknown) =>
    textsOf(ids)
      .map((id) => textOf(byId.get(id)?.name) || id)
      .join(", ");
  return {
    name: textOf(document.name),
    description: textOf(document.description) || textOf(document.comment),
    tool: namesOf(creation.createdUsing),
    authors: namesOf(creation.createdBy),
    format: `SPDX-${textOf(creation.specVersion) || "3"}`,
    generatedAt: textOf(creation.created),
    graph: builder.graph,
  };
}

function idOf(element: Json): string {
  return textOf(element.spdxId) || textOf(element["@id"]);
}

function addElement(element: Json, licenses: ReadonlyMap<string, string>, builder: ComponentGraphBuilder): void {
  const id = idOf(element);
  if (element.type === "software_Package")
    builder.addPackage({
      id,
      name: textOf(element.name),
      version: textOf(element.software_packageVersion),
      license: licenses.get(id) ?? "",
      description: textOf(element.description) || textOf(element.summary),
      purl: textOf(element.software_packageUrl),
    });
  else if (element.type === "software_File")
    builder.addFile({ id, name: textOf(element.name), types: textsOf(element.software_primaryPurpose) });
  else if (element.type === "SpdxDocument") for (const root of textsOf(element.rootElement)) builder.addEdge(id, DESCRIBES, root);
  else if (isRelationship(element) && !LICENSES.has(textOf(element.relationshipType))) addEdges(element, builder);
}

function isRelationship({ type }: Json): boolean {
  return type === "Relationship" || type === "LifecycleScopedRelationship";
}

function addEdges({ from, to, relationshipType }: Json, builder: ComponentGraphBuilder): void {
  const [type, isReversed] = EDGES.get(textOf(relationshipType)) ?? [UNKNOWN, false];
  for (const object of textsOf(to)) {
    if (isReversed) builder.addEdge(object, type, textOf(from));
    else builder.addEdge(textOf(from), type, object);
  }
}

/** The license expression of each package. A concluded license replaces a declared one. */
function licensesIn(elements: readonly Json[], byId: ReadonlyMap<string, Json>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { from, to, relationshipType } of elements.filter(isRelationship)) {
    if (!LICENSES.has(textOf(relationshipType))) continue;
    const license = byId.get(textsOf(to)[0] ?? "");
    const expression = textOf(license?.simplelicensing_licenseExpression) || textOf(license?.name);
    if (expression !== "" && (relationshipType === "hasConcludedLicense" || !found.has(textOf(from)))) found.set(textOf(from), expression);
  }
  return found;
}
