/** CSAF 2 documents of the VEX profile: one advisory for each vulnerability and package of which they state a status. Pure. */
import { type ReadContext, readEach } from "./context.ts";
import { CsafProducts, idsOf } from "./csaf-products.ts";
import { child, elementsOf, isAbsent, type Node, nameOf, noteOf, optionalName } from "./fields.ts";
import { type AdvisoryRecord, BadRecord, type EventRecord } from "./record.ts";
import { timeOf } from "./times.ts";
import { type VexStatus, vexEvents } from "./vex-status.ts";

/** What is recommended, or the first of a range, says nothing of its own here. */
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
    if (advisoryId === undefined) throw new BadRecord(node.pointer, "it has neither a CVE nor another id");
    const saying = { about: createAbout(node, products), time };
    return statuses.flatMap(([name, status]) =>
      readEach(new Set(idsOf(child(child(node, "product_status"), name))), context, (product): AdvisoryRecord => {
        const artifact = products.find(product);
        const place = child(child(node, "product_status"), name);
        if (artifact === undefined) throw new BadRecord(place.pointer, `the product tree has no "${product.slice(0, 200)}"`);
        return {
          advisoryId,
          aliases: ids,
          artifactType: artifact.type,
          artifactName: nameOf(place.holding(artifact.name)),
          artifactArchitecture: artifact.architecture,
          componentType: "",
          componentName: "",
          withdrawn: undefined,
          events: eventsOf(saying, product, status, artifact.version, place),
        };
      }),
    );
  }).flat();
}

function namesOf(node: Node): readonly string[] {
  const others = elementsOf(child(node, "ids")).map((id) => nameOf(child(id, "text")));
  return [...new Set([optionalName(child(node, "cve")), ...others])].filter((id) => id !== "");
}

interface Saying {
  readonly about: About;
  readonly time: number;
}

function eventsOf(saying: Saying, product: string, status: VexStatus, version: string, place: Node): readonly EventRecord[] {
  const about = (name: string, category?: string) => saying.about(product, name, category);
  const flag = status === "not_affected" ? about("flags") : undefined;
  const said = status === "not_affected" ? about("threats", "impact") : status === "affected" ? about("remediations") : undefined;
  const justification = flag === undefined ? "" : optionalName(child(flag, "label"));
  const note = said === undefined ? "" : noteOf(child(said, "details"));
  const events = vexEvents({ status, justification, note, version }, saying.time, false, place);
  const noFix = status === "affected" ? about("remediations", "no_fix_planned") : undefined;
  if (noFix === undefined) return events;
  const type = { case: "fixNotPlanned", value: { note: noteOf(child(noFix, "details")) } } as const;
  return [...events, { time: saying.time, isOwnTime: false, type }];
}

/** The first of a vulnerability's list, of any category where none is asked for, that is about the product, or about all. */
type About = (product: string, list: string, category?: string) => Node | undefined;

/** Each list is looked through once, however many products there are: there may be thousands, and a remediation may name them all. */
function createAbout(node: Node, products: CsafProducts): About {
  const known = new Map<string, (product: string) => Node | undefined>();
  return (product, list, category) => {
    const key = `${list} ${category ?? ""}`;
    const first = known.get(key) ?? firstAbout(elementsOf(child(node, list)), category, products);
    known.set(key, first);
    return first(product);
  };
}

function firstAbout(
  elements: readonly Node[],
  category: string | undefined,
  products: CsafProducts,
): (product: string) => Node | undefined {
  const ofProduct = new Map<string, Node>();
  for (const element of elements) {
    if (category !== undefined && child(element, "category").value !== category) continue;
    const ids = products.idsWithin(element);
    // Whatever comes after it is no first of any.
    if (ids === undefined) return (product) => ofProduct.get(product) ?? element;
    for (const id of ids) if (!ofProduct.has(id)) ofProduct.set(id, element);
  }
  return (product) => ofProduct.get(product);
}
