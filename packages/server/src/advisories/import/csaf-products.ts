/** The products of a CSAF document by id: named by their package URL, or else by the branches above them. Pure. */
import { child, elementsOf, isAbsent, type Node, nameOf, optionalName } from "./fields.ts";
import { type PackageName, packageFromUrl } from "./package-name.ts";
import { BadRecord } from "./record.ts";

/** Far deeper than vendor, product, version and platform. */
const MAX_DEPTH = 50;
/** Products of groups, counted each time that a group is named: a large group can be named often. */
const MAX_GROUPED_PRODUCTS = 5_000_000;
/** Ids and names of products are longer than other names. */
const MAX_LONG_NAME = 2000;

/** The name and the version that the branches above a product give it. */
interface BranchNames {
  readonly name: string;
  readonly version: string;
}

export class CsafProducts {
  readonly #packages = new Map<string, PackageName>();
  /** Maps a component within a product to the product of the component. */
  readonly #components = new Map<string, string>();
  readonly #groups = new Map<string, readonly string[]>();
  #grouped = 0;

  /** @throws BadRecord if the tree is malformed */
  constructor(tree: Node) {
    this.#addBranches(child(tree, "branches"), { name: "", version: "" }, 0);
    for (const product of elementsOf(child(tree, "full_product_names"))) this.#add(product, { name: "", version: "" });
    for (const relationship of elementsOf(child(tree, "relationships"))) {
      const product = child(relationship, "full_product_name");
      if (purlOf(product) !== undefined) this.#add(product, { name: "", version: "" });
      this.#components.set(idOf(product), nameOf(child(relationship, "product_reference"), MAX_LONG_NAME));
    }
    for (const group of elementsOf(child(tree, "product_groups")))
      this.#groups.set(nameOf(child(group, "group_id"), MAX_LONG_NAME), idsOf(child(group, "product_ids")));
  }

  #addBranches(branches: Node, above: BranchNames, depth: number): void {
    if (depth > MAX_DEPTH) throw new BadRecord(branches.pointer, `branches must be nested at most ${MAX_DEPTH} levels deep`);
    for (const branch of elementsOf(branches)) {
      const category = child(branch, "category").value;
      const own = optionalName(child(branch, "name"), MAX_LONG_NAME);
      const here = {
        name: category === "product_name" ? own : above.name,
        version: category === "product_version" ? own : above.version,
      };
      const product = child(branch, "product");
      if (!isAbsent(product)) this.#add(product, here);
      this.#addBranches(child(branch, "branches"), here, depth + 1);
    }
  }

  #add(product: Node, { name, version }: BranchNames): void {
    const url = purlOf(product);
    const named = { type: "generic", name: name || nameOf(child(product, "name"), MAX_LONG_NAME), architecture: "", version };
    this.#packages.set(idOf(product), url === undefined ? named : packageFromUrl(url));
  }

  /** Undefined for an id that the tree does not have. */
  find(id: string): PackageName | undefined {
    let at = id;
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const found = this.#packages.get(at);
      if (found !== undefined) return found;
      const component = this.#components.get(at);
      if (component === undefined) return undefined;
      at = component;
    }
    return undefined;
  }

  #idsOfGroup(group: string, groups: Node): readonly string[] {
    const ids = this.#groups.get(group) ?? [];
    this.#grouped += ids.length;
    if (this.#grouped > MAX_GROUPED_PRODUCTS)
      throw new BadRecord(groups.pointer, `product groups have more than ${MAX_GROUPED_PRODUCTS} products in total`);
    return ids;
  }

  /** The products of a flag, threat or remediation. Undefined if it is about all products. */
  idsWithin(node: Node): readonly string[] | undefined {
    const ids = child(node, "product_ids");
    const groups = child(node, "group_ids");
    if (isAbsent(ids) && isAbsent(groups)) return undefined;
    return [...idsOf(ids), ...idsOf(groups).flatMap((group) => this.#idsOfGroup(group, groups))];
  }
}

export function idsOf(list: Node): readonly string[] {
  return elementsOf(list).map((node) => nameOf(node, MAX_LONG_NAME));
}

function idOf(product: Node): string {
  return nameOf(child(product, "product_id"), MAX_LONG_NAME);
}

/** Version 2.1 has a list of package URLs. */
function purlOf(product: Node): Node | undefined {
  const identification = child(product, "product_identification_helper");
  const [first] = elementsOf(child(identification, "purls"));
  const url = first ?? child(identification, "purl");
  return isAbsent(url) ? undefined : url;
}
