/** Collects the packages, files and relationships of an SBOM as the graph that the API answers, up to a limit. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ComponentGraph_Edge_Type,
  type ComponentGraph_EdgeSchema,
  type ComponentGraph_NodeSchema,
  type ComponentGraphSchema,
} from "@holt/api/gen/platform/tenant/v1/sboms_pb.ts";
import { Unreadable } from "../packages/found-package.ts";

export const EdgeType = ComponentGraph_Edge_Type;
export type EdgeType = ComponentGraph_Edge_Type;

/** Packages, files and relationships together. Real SBOMs of large images have fewer. */
const MAX_ELEMENTS = 100_000;

export interface GraphPackage {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly description: string;
  readonly purl: string;
}

export interface GraphFile {
  readonly id: string;
  readonly name: string;
  readonly types: string[];
}

/** What an SBOM says about itself and its components. */
export interface ParsedSbom {
  readonly name: string;
  readonly description: string;
  readonly tool: string;
  readonly authors: string;
  /** Its name and version, such as `SPDX-2.3`. */
  readonly format: string;
  /** As the SBOM writes it. */
  readonly generatedAt: string;
  readonly graph: MessageInitShape<typeof ComponentGraphSchema>;
}

export class ComponentGraphBuilder {
  readonly #nodes: MessageInitShape<typeof ComponentGraph_NodeSchema>[] = [];
  readonly #edges: MessageInitShape<typeof ComponentGraph_EdgeSchema>[] = [];

  get graph(): ParsedSbom["graph"] {
    return { nodes: this.#nodes, edges: this.#edges };
  }

  addPackage(value: GraphPackage): void {
    this.#count();
    this.#nodes.push({ typedNode: { case: "package", value } });
  }

  addFile(value: GraphFile): void {
    this.#count();
    this.#nodes.push({ typedNode: { case: "file", value } });
  }

  addEdge(subjectId: string, type: EdgeType, predicateId: string): void {
    this.#count();
    this.#edges.push({ subjectId, predicateId, type });
  }

  /** @throws Unreadable */
  #count(): void {
    if (this.#nodes.length + this.#edges.length >= MAX_ELEMENTS)
      throw new Unreadable(`the document has more than ${MAX_ELEMENTS} packages, files and relationships`);
  }
}

/** The empty string for everything that is not a string, and for SPDX's words for an unknown value. */
export function textOf(value: unknown): string {
  return typeof value !== "string" || value === "NOASSERTION" || value === "NONE" ? "" : value.toWellFormed();
}

/** The strings in a list, or one string. */
export function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(textOf).filter((text) => text !== "");
}
