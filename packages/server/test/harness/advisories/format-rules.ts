/**
 * Asserts that published documents follow their formats. CSAF is validated by a package. For the other formats the schemas here list the
 * fields that Holt writes and what the format requires of them; any other field fails.
 */
import assert from "node:assert/strict";
import * as mandatory from "@secvisogram/csaf-validator-lib/mandatoryTests.js";
import * as schemas from "@secvisogram/csaf-validator-lib/schemaTests.js";
import validateCsaf from "@secvisogram/csaf-validator-lib/validate.js";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";

const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void;

function compile(schema: object): ValidateFunction {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  addFormats(ajv);
  // Ajv's formats know no IRIs; those that are written here are URIs.
  ajv.addFormat("iri", (text) => URL.canParse(text));
  return ajv.compile(schema);
}

function assertMatches(validate: ValidateFunction, document: unknown): void {
  assert.ok(validate(document), `${JSON.stringify(validate.errors, undefined, 1)}\n${JSON.stringify(document, undefined, 1)}`);
}

const text = { type: "string", minLength: 1 };
const time = { type: "string", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$" };
const texts = { type: "array", items: text };

function closed(properties: Record<string, object>, required: readonly string[]): object {
  return { type: "object", properties, required, additionalProperties: false };
}

const event = { oneOf: [closed({ introduced: text }, ["introduced"]), closed({ fixed: text }, ["fixed"])] };

/** A CVSS vector must be written as its version demands; version 2 has no prefix. */
function severityOf(type: string, vector: string): object {
  return closed({ type: { const: type }, score: { type: "string", pattern: vector } }, ["type", "score"]);
}

const severity = {
  oneOf: [
    severityOf("CVSS_V2", "^[A-Za-z]+:[A-Z]+(/[A-Za-z]+:[A-Z]+)*$"),
    severityOf("CVSS_V3", "^CVSS:3\\.[01](/[A-Z]+:[A-Z])+$"),
    severityOf("CVSS_V4", "^CVSS:4\\.0(/[A-Z]+:[A-Za-z]+)+$"),
  ],
};
const reference = { enum: ["ADVISORY", "ARTICLE", "DETECTION", "DISCUSSION", "REPORT", "FIX", "INTRODUCED", "PACKAGE", "EVIDENCE", "WEB"] };

/** The part of OSV 1.7 that Holt uses, in its terms. Ids must have a prefix that is registered there. */
const osv = compile(
  closed(
    {
      schema_version: { const: "1.7.0" },
      id: { type: "string", pattern: "^(x_|(CGA|CVE|GHSA|GO|MAL|PYSEC|RUSTSEC|USN)-)" },
      modified: time,
      published: time,
      aliases: texts,
      summary: text,
      details: text,
      severity: { type: "array", items: severity },
      affected: {
        type: "array",
        minItems: 1,
        items: closed(
          {
            package: closed(
              {
                ecosystem: {
                  enum: [
                    "Wolfi",
                    "Chainguard",
                    "Alpine",
                    "Debian",
                    "Ubuntu",
                    "Red Hat",
                    "PyPI",
                    "npm",
                    "Maven",
                    "Go",
                    "crates.io",
                    "RubyGems",
                  ],
                },
                name: text,
                purl: { type: "string", pattern: "^pkg:[a-z]+/" },
              },
              ["ecosystem", "name", "purl"],
            ),
            ranges: {
              type: "array",
              minItems: 1,
              items: closed(
                { type: { const: "ECOSYSTEM" }, events: { type: "array", contains: { required: ["introduced"] }, items: event } },
                ["type", "events"],
              ),
            },
            ecosystem_specific: { type: "object" },
          },
          ["package", "ranges"],
        ),
      },
      references: {
        type: "array",
        items: closed({ type: reference, url: { type: "string", format: "uri" } }, ["type", "url"]),
      },
    },
    ["schema_version", "id", "modified", "affected"],
  ),
);

export function assertOsv(record: unknown): void {
  assertMatches(osv, record);
}

const iri = { type: "string", format: "iri" };
const purl = { type: "string", pattern: "^pkg:[a-z]+/" };
const component = { "@id": iri, identifiers: closed({ purl }, ["purl"]) };
const subcomponents = { type: "array", minItems: 1, uniqueItems: true, items: closed(component, ["@id"]) };
const statement = closed(
  {
    "@id": iri,
    vulnerability: closed({ name: text, aliases: { ...texts, uniqueItems: true } }, ["name"]),
    timestamp: time,
    products: { type: "array", minItems: 1, uniqueItems: true, items: closed({ ...component, subcomponents }, ["@id"]) },
    status: { enum: ["not_affected", "affected", "fixed", "under_investigation"] },
    status_notes: text,
    justification: {
      enum: [
        "component_not_present",
        "vulnerable_code_not_present",
        "vulnerable_code_not_in_execute_path",
        "vulnerable_code_cannot_be_controlled_by_adversary",
        "inline_mitigations_already_exist",
      ],
    },
    impact_statement: text,
    action_statement: text,
  },
  ["vulnerability", "products", "status"],
);

/** The part of OpenVEX 0.2.0 that Holt writes. */
const openVex = compile(
  closed(
    {
      "@context": { const: "https://openvex.dev/ns/v0.2.0" },
      "@id": iri,
      author: text,
      role: text,
      timestamp: time,
      last_updated: time,
      version: { type: "integer", minimum: 1 },
      tooling: text,
      statements: { type: "array", minItems: 1, uniqueItems: true, items: statement },
    },
    ["@context", "@id", "author", "timestamp", "version", "statements"],
  ),
);

interface OpenVex {
  readonly statements: readonly Record<string, unknown>[];
  readonly [name: string]: unknown;
}

export function assertOpenVex(document: unknown): asserts document is OpenVex {
  assertMatches(openVex, document);
  const { statements, ...rest } = document as OpenVex;
  assert.equal(rest["@context"], "https://openvex.dev/ns/v0.2.0");
  for (const name of ["@id", "author", "timestamp"]) assert.ok(rest[name], `${name} is missing`);
  assert.ok(Number.isInteger(rest.version) && (rest.version as number) >= 1);
  assert.ok(statements.length > 0);
  assert.equal(new Set(statements.map((statement) => JSON.stringify(statement))).size, statements.length);
  for (const statement of statements) {
    const { status, justification, impact_statement, action_statement } = statement;
    assert.ok(["not_affected", "affected", "fixed", "under_investigation"].includes(status as string));
    if (status === "not_affected") assert.ok(justification || impact_statement);
    else assert.equal(justification ?? impact_statement, undefined);
    assert.equal(action_statement !== undefined, status === "affected");
  }
}

/** By the schema, and by all tests that the standard says are mandatory. */
export async function assertCsaf(document: unknown): Promise<void> {
  const { isValid, tests } = await validateCsaf([...Object.values(schemas), ...Object.values(mandatory)], document);
  const failed = tests.filter((test) => !test.isValid);
  assert.ok(isValid, `${JSON.stringify(failed, undefined, 1)}\n${JSON.stringify(document, undefined, 1)}`);
}

const secdb = compile(
  closed(
    {
      apkurl: { const: "{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk" },
      archs: texts,
      reponame: text,
      urlprefix: { type: "string", format: "uri" },
      packages: {
        type: "array",
        items: closed(
          {
            pkg: closed({ name: text, secfixes: { type: "object", minProperties: 1, additionalProperties: { ...texts, minItems: 1 } } }, [
              "name",
              "secfixes",
            ]),
          },
          ["pkg"],
        ),
      },
    },
    ["apkurl", "archs", "reponame", "urlprefix", "packages"],
  ),
);

export function assertSecdb(document: unknown): void {
  assertMatches(secdb, document);
}
