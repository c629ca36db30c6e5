/** Reads CycloneDX documents in JSON (ECMA-424). Pure. */
import { type Json, recordOf, recordsOf } from "../../lib/is-record.ts";
import { ComponentGraphBuilder, EdgeType, type ParsedSbom, textOf, textsOf } from "./component-graph.ts";

export function readCycloneDx(sbom: Json): ParsedSbom {
  const builder = new ComponentGraphBuilder();
  const metadata = recordOf(sbom.metadata) ?? {};
  const described = recordOf(metadata.component);
  if (described !== undefined) {
    addComponents([described], builder);
    builder.addEdge(textOf(sbom.serialNumber), EdgeType.DESCRIBES, idOf(described));
  }
  addComponents([...recordsOf(sbom.components)], builder);
  for (const { ref, dependsOn } of recordsOf(sbom.dependencies))
    for (const other of textsOf(dependsOn)) builder.addEdge(textOf(ref), EdgeType.DEPENDS_ON, other);
  return {
    name: textOf(described?.name),
    description: textOf(described?.description),
    tool: toolsOf(metadata.tools),
    authors: authorsOf(metadata),
    format: `CycloneDX-${textOf(sbom.specVersion)}`,
    generatedAt: textOf(metadata.timestamp),
    graph: builder.graph,
  };
}

/** Includes nested components. */
function addComponents(components: readonly Json[], builder: ComponentGraphBuilder): void {
  const waiting = [...components].reverse();
  for (let component = waiting.pop(); component !== undefined; component = waiting.pop()) {
    addComponent(component, builder);
    for (const inner of recordsOf(component.components)) {
      builder.addEdge(idOf(component), EdgeType.CONTAINS, idOf(inner));
      waiting.push(inner);
    }
  }
}

function addComponent(component: Json, builder: ComponentGraphBuilder): void {
  const { type, name, version, description, purl, licenses, group } = component;
  const id = idOf(component);
  if (type === "file") {
    builder.addFile({ id, name: textOf(name), types: [] });
    return;
  }
  const fullName = [textOf(group), textOf(name)].filter((part) => part !== "").join("/");
  builder.addPackage({
    id,
    name: fullName,
    version: textOf(version),
    license: licenseOf(licenses),
    description: textOf(description),
    purl: textOf(purl),
  });
}

/** The reference is optional; dependencies can only name components that have one. */
function idOf(component: Json): string {
  return textOf(component["bom-ref"]) || textOf(component.purl) || textOf(component.name);
}

function licenseOf(licenses: unknown): string {
  const names = [...recordsOf(licenses)].map((choice) => {
    const license = recordOf(choice.license);
    return textOf(choice.expression) || textOf(license?.id) || textOf(license?.name);
  });
  return names.filter((name) => name !== "").join(" AND ");
}

/** A list of tools, or since version 1.5 an object with components and services. */
function toolsOf(tools: unknown): string {
  const object = recordOf(tools);
  const found = object === undefined ? [...recordsOf(tools)] : [...recordsOf(object.components), ...recordsOf(object.services)];
  return found.map(({ name, version }) => [textOf(name), textOf(version)].filter((part) => part !== "").join("-")).join(", ");
}

function authorsOf({ authors, manufacturer, manufacture, supplier }: Json): string {
  const names = [...recordsOf(authors)].map(({ name }) => textOf(name)).filter((name) => name !== "");
  if (names.length > 0) return names.join(", ");
  return textOf(recordOf(manufacturer ?? manufacture ?? supplier)?.name);
}
