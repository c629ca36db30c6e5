/** Reads CSAF 2 documents of the VEX profile: one advisory per vulnerability and package with a status. Pure. */
import type { VexStatus } from "../model/vex-status.ts";
import { type ReadContext, readEach } from "./context.ts";
import { CsafProducts, idsOf } from "./csaf-products.ts";
import { child, elementsOf, isAbsent, type Node, nameOf, noteOf, optionalName } from "./fields.ts";
import { type AdvisoryRecord, BadRecord, type EventRecord } from "./record.ts";
import { timeOf } from "./times.ts";
import { vexEvent } from "./vex-status.ts";

/** Other statuses, such as `recommended`, add no events. */
const statuses: readonly (readonly [name: string, status: VexStatus])[] = [
  ["under_investigation", "under_investigation"],
  ["known_affected", "affected"],
  ["first_affected", "affected"],
  ["last_affected", "affected"],
  ["known_not_affected", "not_affected"],
  ["first_fixed", "fixed"],
  ["fixed", "fixed"],
];

export function isCsaf(document: Node): boolean {
  return !isAbsent(child(child(document, "document"), "csaf_version"));
}

export function readCsaf(document: Node, context: ReadContext): AdvisoryRecord[] {
  const time = timeOf(child(child(child(document, "document"), "tracking"), "current_release_date"), context.now);
  const products = new CsafProducts(child(document, "product_tree"));
  return readEach(elementsOf(child(document, "vulnerabilities")), context, (node) => {
    const ids = namesOf(node);
    const [advisoryId] = ids;
    if (advisoryId === undefined) throw new BadRecord(node.pointer, "neither a CVE nor another id");
    const findDetail = createDetailFinder(node, products);
    return statuses.flatMap(([name, status]) =>
      readEach(new Set(idsOf(child(child(node, "product_status"), name))), context, (product): AdvisoryRecord => {
        const artifact = products.find(product);
        const statusNode = child(child(node, "product_status"), name);
        if (artifact === undefined) throw new BadRecord(statusNode.pointer, `the product tree has no "${product.slice(0, 200)}"`);
        return {
          advisoryId,
          aliases: ids,
          artifactType: artifact.type,
          artifactName: nameOf(statusNode.withValue(artifact.name)),
          artifactArchitecture: artifact.architecture,
          componentType: "",
          componentName: "",
          withdrawn: undefined,
          events: eventsOf({ status, version: artifact.version, time, node: statusNode }, (list, category) =>
            findDetail(product, list, category),
          ),
        };
      }),
    );
  }).flat();
}

function namesOf(node: Node): readonly string[] {
  const others = elementsOf(child(node, "ids")).map((id) => nameOf(child(id, "text")));
  return [...new Set([optionalName(child(node, "cve")), ...others])].filter((id) => id !== "");
}

interface ProductStatus {
  readonly status: VexStatus;
  readonly version: string;
  readonly time: number;
  readonly node: Node;
}

function eventsOf(
  { status, version, time, node }: ProductStatus,
  find: (list: string, category?: string) => Node | undefined,
): readonly EventRecord[] {
  const flag = status === "not_affected" ? find("flags") : undefined;
  const detail = status === "not_affected" ? find("threats", "impact") : status === "affected" ? find("remediations") : undefined;
  const justification = flag === undefined ? "" : optionalName(child(flag, "label"));
  const note = detail === undefined ? "" : noteOf(child(detail, "details"));
  const event = vexEvent({ status, justification, note, version }, { time, isOwnTime: false }, node);
  const noFix = status === "affected" ? find("remediations", "no_fix_planned") : undefined;
  if (noFix === undefined) return [event];
  const type = { case: "fixNotPlanned", value: { note: noteOf(child(noFix, "details")) } } as const;
  return [event, { time, isOwnTime: false, type }];
}

/**
 * Finds the first element of a vulnerability's list that is about the product or about all products. Without a
 * category, of any category.
 */
type DetailFinder = (product: string, list: string, category?: string) => Node | undefined;

/** Scans each list once, because there can be thousands of products, and each element can name all of them. */
function createDetailFinder(node: Node, products: CsafProducts): DetailFinder {
  const known = new Map<string, (product: string) => Node | undefined>();
  return (product, list, category) => {
    const key = `${list} ${category ?? ""}`;
    const first = known.get(key) ?? indexByProduct(elementsOf(child(node, list)), category, products);
    known.set(key, first);
    return first(product);
  };
}

function indexByProduct(
  elements: readonly Node[],
  category: string | undefined,
  products: CsafProducts,
): (product: string) => Node | undefined {
  const ofProduct = new Map<string, Node>();
  for (const element of elements) {
    if (category !== undefined && child(element, "category").value !== category) continue;
    const ids = products.idsWithin(element);
    // This element is about all products, so later elements are never the first.
    if (ids === undefined) return (product) => ofProduct.get(product) ?? element;
    for (const id of ids) if (!ofProduct.has(id)) ofProduct.set(id, element);
  }
  return (product) => ofProduct.get(product);
}
