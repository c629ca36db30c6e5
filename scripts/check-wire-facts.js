// Compares the generated contract with the wire facts in packages/api/wire-facts: the names, numbers, types and paths that clients rely on.
// Prints each fact that the contract lacks or states otherwise; exit status 1 if there is any. The contract may have
// more than the facts say.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createFileRegistry, fromBinary, getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { FieldBehaviorSchema } from "../packages/api/gen/google/api/field_behavior_pb.ts";
import { AudienceSchema } from "../packages/api/gen/platform/annotations/annotations_pb.ts";
import { CapabilitySchema } from "../packages/api/gen/platform/capabilities/capabilities_pb.ts";
import { events, fieldBehavior, http, iam, iamScope } from "../packages/api/index.ts";
import { apiFolder, genFolder } from "./generate.js";

const factsFolder = join(apiFolder, "wire-facts");
const contract = contractFacts(join(genFolder, "descriptors.binpb"));
let held = 0;
const missing = [];
for (const file of readdirSync(factsFolder).sort()) {
  for (const { owner, fact } of parseFacts(readFileSync(join(factsFolder, file), "utf8"))) {
    if (contract.get(owner)?.has(fact)) held++;
    else missing.push(`${file}: ${owner}: ${fact}`);
  }
}
for (const line of missing) console.error(line);
console.log(`${held} wire facts hold, ${missing.length} do not.`);
if (missing.length > 0) process.exitCode = 1;

/**
 * The facts of one file, each with the declaration that it belongs to. Every line is a fact; indentation and blank
 * lines are not significant.
 */
function* parseFacts(text) {
  let declaration = "";
  let owner = "";
  for (const line of text.split("\n").map((line) => line.trim())) {
    if (line === "") continue;
    if (/^(service|message|enum) /.test(line)) {
      declaration = line;
      owner = line;
      yield { owner, fact: "exists" };
      continue;
    }
    if (line.startsWith("rpc ")) owner = `${declaration} / ${line.slice(0, line.indexOf("("))}`;
    yield { owner, fact: line };
  }
}

/** All facts of the contract by their owner, each spelled as in the files. */
function contractFacts(descriptorSet) {
  const facts = new Map();
  for (const desc of createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptorSet)))) {
    const owner = `${desc.kind} ${desc.typeName}`;
    facts.set(owner, new Set(["exists", ...memberFacts(desc)]));
    if (desc.kind !== "service") continue;
    for (const method of desc.methods) facts.set(`${owner} / rpc ${method.name}`, new Set(methodFacts(method)));
  }
  return facts;
}

function memberFacts(desc) {
  if (desc.kind === "message") return desc.fields.map(fieldFact);
  if (desc.kind === "enum") return desc.values.map(({ number, name }) => `${number}  ${name}`);
  return [];
}

function methodFacts(method) {
  const stream = method.methodKind === "unary" ? "" : `${method.methodKind} `;
  const facts = [`rpc ${method.name}(${method.input.name})->${stream}${method.output.typeName}`];
  if (hasOption(method, http)) {
    const rule = getOption(method, http);
    facts.push(...[rule, ...rule.additionalBindings].map(httpFact));
  }
  if (hasOption(method, iam)) facts.push(iamFact(getOption(method, iam)));
  if (hasOption(method, events)) facts.push(eventFact(getOption(method, events)));
  return facts;
}

function httpFact({ pattern, body, responseBody }) {
  const parts = [`http ${pattern.case?.toUpperCase()} ${pattern.value}`];
  if (body) parts.push(`body=${body}`);
  if (responseBody) parts.push(`response_body=${responseBody}`);
  return parts.join(" ");
}

function iamFact({ mode }) {
  if (mode.case === "disabled") return "iam disabled (no authentication)";
  const { capabilities = [], unscoped = false } = mode.value ?? {};
  const names = capabilities.map((number) => CapabilitySchema.value[number]?.name ?? number);
  return `iam [${names.join(", ")}]${unscoped ? " unscoped" : ""}`;
}

function eventFact({ type, extensions, audience }) {
  return `event ${type} ext=[${extensions.join(",")}] audience=${AudienceSchema.value[audience]?.localName}`;
}

/** Number, name, type, and then whatever is special about the field. */
function fieldFact(field) {
  const behaviors = getOption(field, fieldBehavior).map((number) => FieldBehaviorSchema.value[number]?.name);
  const parts = [field.number, field.name, fieldType(field)];
  if (field.oneof) parts.push(`oneof=${field.oneof.name}`);
  if (field.proto.proto3Optional) parts.push("optional");
  if (field.jsonName !== field.localName) parts.push(`json=${field.jsonName}`);
  if (behaviors.length > 0) parts.push(behaviors.join(","));
  if (getOption(field, iamScope)) parts.push("IAM_SCOPE");
  if (field.deprecated) parts.push("DEPRECATED");
  return parts.join("  ");
}

function fieldType(field) {
  const type = field.message?.typeName ?? field.enum?.typeName ?? ScalarType[field.scalar].toLowerCase();
  if (field.fieldKind === "map") return `map<${ScalarType[field.mapKey].toLowerCase()},${type}>`;
  return field.fieldKind === "list" ? `repeated ${type}` : type;
}
