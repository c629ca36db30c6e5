/** Renders the known CVSS scores of a vulnerability for CSAF 2.0 (§3.2.3.11), which has versions 2.0, 3.0 and 3.1. Pure. */
import { Severity_Type } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { isCvssVector } from "../model/cvss-vector.ts";
import type { CsafProduct } from "./csaf-products.ts";
import { cvss2BaseScore, cvss3BaseScore, severityOf } from "./cvss-score.ts";
import type { Vulnerability } from "./vulnerability.ts";

/** Empty if there is no score, or no product that the vulnerability may affect. */
export function scoresOf(products: readonly CsafProduct[], known: Vulnerability | undefined): readonly object[] {
  const ids = products.filter(({ status }) => status === "affected" || status === "under_investigation").map(({ id }) => id);
  const cvss3 = vectorsOf(known, "CVSS_V3").at(-1);
  const cvss2 = vectorsOf(known, "CVSS_V2")[0];
  if (ids.length === 0 || (cvss3 === undefined && cvss2 === undefined)) return [];
  // One element for both versions: a product must not have two scores of one version.
  return [
    { products: ids, ...(cvss2 !== undefined && { cvss_v2: cvss2Of(cvss2) }), ...(cvss3 !== undefined && { cvss_v3: cvss3Of(cvss3) }) },
  ];
}

/** In the order of their texts, so that those of version 3.1 are last. */
function vectorsOf(known: Vulnerability | undefined, type: "CVSS_V2" | "CVSS_V3"): readonly string[] {
  const vectors = known?.severities.filter((severity) => severity.type === type).map(({ score }) => score) ?? [];
  return vectors.filter((vector) => isCvssVector(Severity_Type[type], vector)).sort();
}

function cvss2Of(vectorString: string): object {
  return { version: "2.0", vectorString, baseScore: cvss2BaseScore(vectorString) };
}

function cvss3Of(vectorString: string): object {
  const baseScore = cvss3BaseScore(vectorString);
  return { version: vectorString.slice(5, 8), vectorString, baseScore, baseSeverity: severityOf(baseScore) };
}
