/** Computes the base scores of CVSS vectors, versions 2.0, 3.0 and 3.1, as CSAF 2.0 requires them. Pure. */

export type Severity = "NONE" | "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";

/** @param vector of version 3.0 or 3.1, with all base metrics (CVSS 3.1 §7.1) */
export function cvss3BaseScore(vector: string): number {
  const metrics = metricsOf(vector);
  const weight = (name: string, weights: Readonly<Record<string, number>>) => weights[metrics.get(name) ?? ""] ?? 0;
  const isChanged = metrics.get("S") === "C";
  const impacts = ["C", "I", "A"].map((name) => 1 - weight(name, { H: 0.56, L: 0.22 }));
  const base = 1 - impacts.reduce((product, part) => product * part, 1);
  const impact = isChanged ? 7.52 * (base - 0.029) - 3.25 * (base - 0.02) ** 15 : 6.42 * base;
  if (impact <= 0) return 0;
  const privileges = isChanged ? { N: 0.85, L: 0.68, H: 0.5 } : { N: 0.85, L: 0.62, H: 0.27 };
  const exploitability =
    8.22 *
    weight("AV", { N: 0.85, A: 0.62, L: 0.55, P: 0.2 }) *
    weight("AC", { L: 0.77, H: 0.44 }) *
    weight("PR", privileges) *
    weight("UI", { N: 0.85, R: 0.62 });
  return roundUp(Math.min((isChanged ? 1.08 : 1) * (impact + exploitability), 10));
}

/** @param vector of version 2.0, with all base metrics (CVSS 2.0 §3.2.1) */
export function cvss2BaseScore(vector: string): number {
  const metrics = metricsOf(vector);
  const weight = (name: string, weights: Readonly<Record<string, number>>) => weights[metrics.get(name) ?? ""] ?? 0;
  const parts = ["C", "I", "A"].map((name) => 1 - weight(name, { P: 0.275, C: 0.66 }));
  const impact = 10.41 * (1 - parts.reduce((product, part) => product * part, 1));
  const exploitability =
    20 *
    weight("AV", { L: 0.395, A: 0.646, N: 1 }) *
    weight("AC", { H: 0.35, M: 0.61, L: 0.71 }) *
    weight("Au", { M: 0.45, S: 0.56, N: 0.704 });
  const score = (0.6 * impact + 0.4 * exploitability - 1.5) * (impact === 0 ? 0 : 1.176);
  return Math.round(score * 10) / 10;
}

/** CVSS 3.1 §5. */
export function severityOf(score: number): Severity {
  if (score === 0) return "NONE";
  if (score < 4) return "LOW";
  if (score < 7) return "MEDIUM";
  return score < 9 ? "HIGH" : "CRITICAL";
}

function metricsOf(vector: string): ReadonlyMap<string, string> {
  return new Map(vector.split("/").map((metric) => metric.split(":") as [string, string]));
}

/** Rounds up to one decimal, without the errors of binary fractions (CVSS 3.1, appendix A). */
function roundUp(score: number): number {
  const scaled = Math.round(score * 100_000);
  return scaled % 10_000 === 0 ? scaled / 100_000 : (Math.floor(scaled / 10_000) + 1) / 10;
}
