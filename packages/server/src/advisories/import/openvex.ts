/** Reads OpenVEX documents: one advisory per statement and product, or per component if the statement names components. Pure. */
import type { VexStatus } from "../model/vex-status.ts";
import { aliasesOf } from "./aliases.ts";
import { type ReadContext, readEach } from "./context.ts";
import { child, elementsOf, isAbsent, type Node, nameOf, noteOf, optionalName } from "./fields.ts";
import { isPackageUrl, type PackageName, packageFromUrl } from "./package-name.ts";
import { type AdvisoryRecord, BadRecord } from "./record.ts";
import { optionalTime } from "./times.ts";
import { vexEvent } from "./vex-status.ts";

const STATUSES: ReadonlySet<string> = new Set(["not_affected", "affected", "fixed", "under_investigation"]);

export function isOpenVex(document: Node): boolean {
  const context = child(document, "@context").value;
  return typeof context === "string" && context.includes("openvex");
}

export function readOpenVex(document: Node, context: ReadContext): AdvisoryRecord[] {
  const issued = optionalTime(child(document, "last_updated"), context.now) ?? optionalTime(child(document, "timestamp"), context.now);
  return readEach(elementsOf(child(document, "statements")), context, (node) => readStatement(node, issued, context)).flat();
}

function readStatement(node: Node, issued: number | undefined, context: ReadContext): AdvisoryRecord[] {
  const { id, aliases } = vulnerabilityOf(child(node, "vulnerability"));
  const stated = optionalTime(child(node, "last_updated"), context.now) ?? optionalTime(child(node, "timestamp"), context.now);
  const time = stated ?? issued;
  if (time === undefined) throw new BadRecord(`${node.pointer}/timestamp`, "neither the statement nor the document has a time");
  const status = nameOf(child(node, "status"));
  if (!STATUSES.has(status)) throw new BadRecord(`${node.pointer}/status`, `unknown status "${status}"`);
  const note =
    noteOf(child(node, status === "not_affected" ? "impact_statement" : "action_statement")) || noteOf(child(node, "status_notes"));
  const justification = optionalName(child(node, "justification"));
  const products = elementsOf(child(node, "products"));
  if (products.length === 0) throw new BadRecord(`${node.pointer}/products`, "no products");
  return readEach(products, context, (product): AdvisoryRecord[] => {
    const artifact = productOf(product);
    const components = elementsOf(child(product, "subcomponents")).map((component) => productOf(component));
    return (components.length === 0 ? [undefined] : components).map((component) => ({
      advisoryId: id,
      aliases,
      artifactType: artifact.type,
      artifactName: artifact.name,
      artifactArchitecture: artifact.architecture,
      componentType: component?.type ?? "",
      componentName: component?.name ?? "",
      withdrawn: undefined,
      events: [
        vexEvent(
          { status: status as VexStatus, justification, note, version: (component ?? artifact).version },
          { time, isOwnTime: stated !== undefined },
          product,
        ),
      ],
    }));
  }).flat();
}

/** The first versions of OpenVEX have a string here. */
function vulnerabilityOf(node: Node): { readonly id: string; readonly aliases: readonly string[] } {
  if (typeof node.value === "string") return { id: nameOf(node), aliases: [nameOf(node)] };
  const id = optionalName(child(node, "name")) || nameOf(child(node, "@id"));
  return { id, aliases: [...new Set([id, ...aliasesOf(id, child(node, "aliases"))])] };
}

/** By the package URL of the product, or else by its id. */
function productOf(node: Node): PackageName {
  if (typeof node.value === "string") return packageFromId(node);
  const url = child(child(node, "identifiers"), "purl");
  return packageFromId(isAbsent(url) ? child(node, "@id") : url);
}

function packageFromId(id: Node): PackageName {
  if (isPackageUrl(id.value)) return packageFromUrl(id);
  return { type: "generic", name: nameOf(id), architecture: "", version: "" };
}
