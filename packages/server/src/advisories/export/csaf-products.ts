/** Builds the products of a CSAF document: artifacts, and components of artifacts. Pure. */
import type { VexStatus } from "../model/vex-status.ts";
import { artifactUrl, componentUrl } from "./package-url.ts";
import type { PublishedAdvisory, PublishedEvent } from "./published-advisory.ts";
import type { Rendering } from "./rendering.ts";
import { vexStatus } from "./vex-status.ts";

export interface CsafProduct {
  readonly id: string;
  /** Package URL of the artifact, with a version if it is fixed there. */
  readonly artifact: string;
  /** Package URL. */
  readonly component: string | undefined;
  readonly location: string;
  readonly status: VexStatus;
  readonly event: PublishedEvent;
}

/** Without duplicates. If several advisories are about one product, the one with the latest event counts. */
export function productsOf(advisories: readonly PublishedAdvisory[], { distributions }: Rendering): readonly CsafProduct[] {
  const products = new Map<string, CsafProduct>();
  for (const advisory of [...advisories].sort((a, b) => (a.latest.time < b.latest.time ? -1 : 1))) {
    const status = vexStatus(advisory.latest);
    const component = componentUrl(advisory, distributions);
    const location = advisory.componentLocation;
    for (const version of status === "fixed" ? advisory.latest.versions : [""]) {
      const artifact = artifactUrl(advisory, distributions, version);
      const id = component === undefined ? artifact : `${artifact} ${component}${location === "" ? "" : ` ${location}`}`;
      products.set(id, { id, artifact, component, location, status, event: advisory.latest });
    }
  }
  return [...products.values()];
}

/**
 * CSAF 2.0 §3.2.2: artifacts and components are products; a component of an artifact is a relationship between them.
 */
export function productTree(products: readonly CsafProduct[]): object {
  const urls = new Set(products.flatMap(({ artifact, component }) => (component === undefined ? [artifact] : [artifact, component])));
  const relationships = products.flatMap(({ id, artifact, component, location }) =>
    component === undefined
      ? []
      : [
          {
            category: "default_component_of",
            product_reference: component,
            relates_to_product_reference: artifact,
            full_product_name: { name: `${component} in ${artifact}${location === "" ? "" : ` at ${location}`}`, product_id: id },
          },
        ],
  );
  return {
    full_product_names: [...urls].map((url) => ({ name: url, product_id: url, product_identification_helper: { purl: url } })),
    ...(relationships.length > 0 && { relationships }),
  };
}
