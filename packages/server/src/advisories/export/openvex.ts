/** Renders advisories as statements of an OpenVEX 0.2 document. Pure. */
import { artifactUrl, componentUrl } from "./package-url.ts";
import type { PublishedAdvisory } from "./published-advisory.ts";
import { type Frame, feedUrl, type Rendering, vulnerabilityName } from "./rendering.ts";
import { actionOf, impactOf, justificationOf, vexStatus } from "./vex-status.ts";

/** OpenVEX 0.2.0, "The VEX Statement". The schema demands that statements differ; the `@id` ensures it. */
export function openVexStatement(advisory: PublishedAdvisory, rendering: Rendering): object {
  const { uid, latest } = advisory;
  return {
    "@id": `${feedUrl(rendering, "openvex.json")}#${uid.slice(rendering.group.length + 1)}`,
    vulnerability: vulnerabilityOf(advisory),
    timestamp: latest.time,
    products: productsOf(advisory, rendering),
    ...statusOf(advisory),
  };
}

/** OpenVEX 0.2.0, "Vulnerability Data Structure". */
function vulnerabilityOf(advisory: PublishedAdvisory): object {
  const name = vulnerabilityName(advisory);
  const aliases = [...new Set([advisory.advisoryId, ...advisory.aliases])].filter((alias) => alias !== name && alias !== "");
  return { name, ...(aliases.length > 0 && { aliases }) };
}

/** OpenVEX 0.2.0, "Product Data Structure". For a fixed advisory, one product per fixed version. */
function productsOf(advisory: PublishedAdvisory, { distributions }: Rendering): object[] {
  const component = componentUrl(advisory, distributions);
  const versions = vexStatus(advisory.latest) === "fixed" ? [...new Set(advisory.latest.versions)] : [""];
  return versions.map((version) => {
    const purl = artifactUrl(advisory, distributions, version);
    return {
      "@id": purl,
      identifiers: { purl },
      ...(component !== undefined && { subcomponents: [{ "@id": component, identifiers: { purl: component } }] }),
    };
  });
}

/** OpenVEX 0.2.0, "Status Labels" and "Status Justifications". */
function statusOf({ latest }: PublishedAdvisory): object {
  const status = vexStatus(latest);
  if (status === "not_affected") {
    const justification = justificationOf(latest);
    return { status, ...(justification !== undefined && { justification }), impact_statement: impactOf(latest) };
  }
  if (status === "affected") return { status, action_statement: actionOf(latest).text };
  return { status, ...(latest.note !== "" && { status_notes: latest.note }) };
}

/** The JSON before the first and after the last statement of the document. */
export function openVexFrame(rendering: Rendering): Frame {
  const begin = {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": feedUrl(rendering, "openvex.json"),
    author: rendering.groupName,
    role: "Document Creator",
    tooling: "Holt",
  };
  return {
    head: `${JSON.stringify(begin).slice(0, -1)},"statements":[\n`,
    tail: ({ newest, version }) => `\n],${JSON.stringify({ timestamp: newest, last_updated: newest, version }).slice(1)}\n`,
  };
}
