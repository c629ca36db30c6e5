/** Renders advisories as CSAF 2.0 documents of profile 5 (VEX), one per advisory id. Pure. */
import { createHash } from "node:crypto";
import type { VexStatus } from "../model/vex-status.ts";
import { type CsafProduct, productsOf, productTree } from "./csaf-products.ts";
import { scoresOf } from "./csaf-scores.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";
import { feedUrl, isCve, knownVulnerability, newest, type Rendering, vulnerabilityName } from "./rendering.ts";
import { actionOf, impactOf, justificationOf } from "./vex-status.ts";
import type { Vulnerability } from "./vulnerability.ts";

/** @param advisories with the same id, at least one */
export function csafDocument(advisories: readonly PublishedAdvisory[], rendering: Rendering): object {
  const products = productsOf(advisories, rendering);
  return {
    document: documentOf(advisories, rendering),
    product_tree: productTree(products),
    vulnerabilities: [vulnerabilityOf(advisories, products, rendering)],
  };
}

/** Ids that a lower-case file name represents without ambiguity. */
const PLAIN = /^[A-Z]+(?:-(?:[-+a-z0-9]|:(?!:))*)?$/;

/** The document's file name (CSAF 2.0 §5.1). An id whose file name is ambiguous gets a hash appended. */
export function csafFileName(advisoryId: string): string {
  const name = advisoryId.toLowerCase().replace(/[^+\-a-z0-9]+/g, "_");
  return `${PLAIN.test(advisoryId) ? name : `${name}_${createHash("sha256").update(advisoryId).digest("hex").slice(0, 12)}`}.json`;
}

/** CSAF 2.0 §3.2.1. */
function documentOf(advisories: readonly PublishedAdvisory[], rendering: Rendering): object {
  const [{ advisoryId }] = advisories as [PublishedAdvisory];
  const name = vulnerabilityName(advisories[0] as PublishedAdvisory);
  const artifacts = [...new Set(advisories.map(({ artifactName }) => artifactName))];
  return {
    category: "csaf_vex",
    csaf_version: "2.0",
    lang: "en",
    publisher: { category: "vendor", name: rendering.groupName, namespace: rendering.baseUrl },
    title: `${name} in ${artifacts[0]}${artifacts.length > 1 ? ` and ${artifacts.length - 1} more` : ""}`,
    references: [{ category: "self", summary: "This document", url: feedUrl(rendering, `csaf/${encodeURIComponent(advisoryId)}.json`) }],
    tracking: trackingOf(advisories, rendering),
  };
}

/** CSAF 2.0 §3.2.1.12: each approved event is a revision, in order of time. */
function trackingOf(advisories: readonly PublishedAdvisory[], rendering: Rendering): object {
  const [{ advisoryId }] = advisories as [PublishedAdvisory];
  const events = advisories
    .flatMap((advisory) => advisory.events.map(({ time, kind }) => ({ time, kind, artifactName: advisory.artifactName })))
    .sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  const vulnerabilities = advisories.map((advisory) => knownVulnerability(advisory, rendering)?.updateTime ?? "");
  const changed = [...advisories.map(({ updateTime }) => updateTime), ...events.map(({ time }) => time), ...vulnerabilities];
  return {
    id: advisoryId.trim(),
    status: "final",
    version: String(events.length),
    initial_release_date: events[0]?.time,
    current_release_date: newest(changed),
    revision_history: events.map(({ time, kind, artifactName }, i) => ({
      date: time,
      number: String(i + 1),
      summary: `${artifactName}: ${kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
    })),
    generator: { engine: { name: "Holt" } },
  };
}

/** CSAF 2.0 §3.2.3. */
function vulnerabilityOf(advisories: readonly PublishedAdvisory[], products: readonly CsafProduct[], rendering: Rendering): object {
  const [{ advisoryId }] = advisories as [PublishedAdvisory];
  const names = [...new Set([advisoryId, ...advisories.flatMap(({ aliases }) => aliases)])].filter((name) => name !== "");
  const cve = names.find(isCve);
  const ids = names.filter((name) => name !== cve).map((text) => ({ system_name: systemOf(text), text }));
  const remediations = products.flatMap((product) => remediationOf(product) ?? []);
  return {
    ...(cve !== undefined && { cve }),
    ...(ids.length > 0 && { ids }),
    notes: notesOf(advisories, rendering),
    product_status: statusesOf(products),
    ...optionalList("flags", products.flatMap(flagOf)),
    ...optionalList("threats", products.flatMap(threatOf)),
    ...optionalList("remediations", remediations),
    ...optionalList("scores", scoresOf(products, scoredVulnerability(advisories, rendering))),
  };
}

/** The first known vulnerability that has scores. */
function scoredVulnerability(advisories: readonly PublishedAdvisory[], rendering: Rendering): Vulnerability | undefined {
  return advisories
    .map((advisory) => knownVulnerability(advisory, rendering))
    .find((known) => known !== undefined && known.severities.length > 0);
}

/** The issuer of an id (CSAF 2.0 §3.2.3.5), taken from the id's prefix. */
function systemOf(id: string): string {
  return /^[A-Za-z]+(?=-)/.exec(id)?.[0] ?? "other";
}

function notesOf(advisories: readonly PublishedAdvisory[], rendering: Rendering): object[] {
  const known = advisories.map((advisory) => knownVulnerability(advisory, rendering)).find((vulnerability) => vulnerability !== undefined);
  const name = vulnerabilityName(advisories[0] as PublishedAdvisory);
  const description = known?.details || known?.summary || `See what public databases say of ${name}.`;
  const notes = advisories.flatMap(({ artifactName, latest }) =>
    latest.note === "" ? [] : [{ category: "details", title: artifactName || "Artifact", text: latest.note }],
  );
  return [{ category: "description", title: `Description of ${name}`, text: description }, ...notes];
}

/** CSAF 2.0 §3.2.3.9. */
const statusLists: Readonly<Record<VexStatus, string>> = {
  affected: "known_affected",
  not_affected: "known_not_affected",
  fixed: "fixed",
  under_investigation: "under_investigation",
};

function statusesOf(products: readonly CsafProduct[]): object {
  const statuses: Record<string, string[]> = {};
  for (const { id, status } of products) {
    statuses[statusLists[status]] ??= [];
    statuses[statusLists[status]]?.push(id);
  }
  return statuses;
}

/**
 * CSAF 2.0 §4.5 demands a reason for each product that is not affected: a flag, or a threat with an impact statement.
 */
function flagOf({ id, status, event }: CsafProduct): object[] {
  const label = status === "not_affected" ? justificationOf(event) : undefined;
  return label === undefined ? [] : [{ label, date: event.time, product_ids: [id] }];
}

function threatOf({ id, status, event }: CsafProduct): object[] {
  if (status !== "not_affected" || (justificationOf(event) !== undefined && event.note === "")) return [];
  return [{ category: "impact", date: event.time, details: impactOf(event), product_ids: [id] }];
}

/** CSAF 2.0 §4.5 demands an action for each product that is affected. */
function remediationOf({ id, status, event }: CsafProduct): object | undefined {
  if (status !== "affected") return undefined;
  const { category, text } = actionOf(event);
  return { category, date: event.time, details: text, product_ids: [id] };
}

/** CSAF does not allow empty arrays. */
function optionalList(name: string, items: readonly object[]): object {
  return items.length === 0 ? {} : { [name]: items };
}
