/** What the published formats demand. Schemas of the formats themselves are taken from beside the repository, where they lie there, or from packages. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as mandatory from "@secvisogram/csaf-validator-lib/mandatoryTests.js";
import * as schemas from "@secvisogram/csaf-validator-lib/schemaTests.js";
import validateCsaf from "@secvisogram/csaf-validator-lib/validate.js";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";

const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void;
const published = fileURLToPath(new URL("../../../../../../shared/data/", import.meta.url));

function compile(schema: object): ValidateFunction {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  addFormats(ajv);
  // Ajv's formats know no IRIs; those that are written here are URIs.
  ajv.addFormat("iri", (text) => URL.canParse(text));
  return ajv.compile(schema);
}

/** Undefined where it does not lie there. */
function publishedSchema(path: string): ValidateFunction | undefined {
  if (!existsSync(published + path)) return undefined;
  const text = readFileSync(published + path, "utf8");
  return text.trimStart().startsWith("{") ? compile(JSON.parse(text)) : undefined;
}

function assertMatches(validate: ValidateFunction | undefined, document: unknown): void {
  if (validate === undefined) return;
  assert.ok(validate(document), `${JSON.stringify(validate.errors, undefined, 1)}\n${JSON.stringify(document, undefined, 1)}`);
}

const text = { type: "string", minLength: 1 };
const time = { type: "string", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$" };
const texts = { type: "array", items: text };

function closed(properties: Record<string, object>, required: readonly string[]): object {
  return { type: "object", properties, required, additionalProperties: false };
}

const event = { oneOf: [closed({ introduced: text }, ["introduced"]), closed({ fixed: text }, ["fixed"])] };
const severity = { enum: ["CVSS_V2", "CVSS_V3", "CVSS_V4"] };
const reference = { enum: ["ADVISORY", "ARTICLE", "DETECTION", "DISCUSSION", "REPORT", "FIX", "INTRODUCED", "PACKAGE", "EVIDENCE", "WEB"] };

/** What is used of OSV 1.7, in its terms. Ids must have a prefix that is registered there. */
const osv = compile(
  closed(
    {
      schema_version: { const: "1.7.0" },
      id: { type: "string", pattern: "^(CGA|CVE|GHSA|GO|MAL|PYSEC|RUSTSEC|USN)-" },
      modified: time,
      published: time,
      aliases: texts,
      summary: text,
      details: text,
      severity: { type: "array", items: closed({ type: severity, score: text }, ["type", "score"]) },
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
const osvSchema = publishedSchema("osv/schema.json");

export function assertOsv(record: unknown): void {
  assertMatches(osv, record);
  assertMatches(osvSchema, record);
}

const openVexSchema = publishedSchema("openvex/schema.json");

interface OpenVex {
  readonly statements: readonly Record<string, unknown>[];
  readonly [name: string]: unknown;
}

export function assertOpenVex(document: unknown): asserts document is OpenVex {
  assertMatches(openVexSchema, document);
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
