/** Makes a command of an operation of the contract. */
import { existsSync, statSync } from "node:fs";
import type { HoltError } from "@holt/client";
import type { Invocation } from "../command/invocation.ts";
import type { ArgumentSpec, OptionSpec, Verb } from "../command/verb.ts";
import { readOperation } from "../generated.ts";
import type { Row, View } from "../output/output.ts";
import { callList } from "./call-list.ts";
import type { Field, Operation } from "./operation.ts";
import { buildRequest } from "./request.ts";

export function verbOfOperation(path: string): Verb {
  return verbFrom(readOperation(path));
}

function verbFrom(operation: Operation): Verb {
  const { path, summary, description, capabilities } = operation;
  const rest = description.slice(summary.length).trim();
  const needs = capabilities.length === 0 ? "" : `Needs ${capabilities.join(", ")}.`;
  const more = [rest, needs].filter((text) => text !== "").join("\n");
  return {
    path,
    summary,
    ...(more !== "" && { description: more }),
    arguments: operation.arguments.map(argumentFrom),
    options: [...operation.flags.map((field) => optionFrom(field, operation)), ...ownOptions(operation)],
    run: (invocation) => runOperation(operation, invocation),
  };
}

async function runOperation(operation: Operation, invocation: Invocation): Promise<void> {
  const request = await buildRequest(operation, invocation);
  if (operation.destructive) {
    const names = operation.arguments.map(({ name }) => invocation.argument(name)).join(" ");
    await invocation.confirm(`holt ${operation.path} ${names}: continue?`);
  }
  const view: View = { columns: operation.columns };
  const { rest } = invocation.session();
  if (operation.items !== undefined) return callList(operation, request, invocation);
  const call = rest.call({ ...request, signal: invocation.signal });
  const answer = (await call.catch((error: unknown) => explainFileName(error, operation, invocation))) as Row | undefined;
  if (answer === undefined || Object.keys(answer).length === 0) return invocation.output.say("Done.");
  await invocation.output.row(answer, operation.columns.length === 0 ? { columns: Object.keys(answer) } : view);
}

/** A text that the server refuses and that is the name of a file was probably meant as the content of the file. */
async function explainFileName(error: unknown, { flags }: Operation, { options }: Invocation): Promise<never> {
  const { fieldViolations = [] } = error as Partial<HoltError>;
  const refused = flags.find(({ type, proto, name }) => {
    const isNamed = fieldViolations.some(({ field }) => proto === field || proto.endsWith(`.${field}`));
    return isNamed && type === "string" && isFile(options[name]);
  });
  if (refused === undefined) throw error;
  const { failureOfCall } = await import("../report-failure.ts");
  throw failureOfCall(error as HoltError, `--${refused.name} @${options[refused.name]} sends the content of the file`);
}

function isFile(text: unknown): boolean {
  return typeof text === "string" && existsSync(text) && statSync(text).isFile();
}

function argumentFrom({ name, help, kind }: Field): ArgumentSpec {
  return { name, help: kind ? `${help.replace(/\.$/, "")}${help ? "; or " : ""}its name or path of names` : help, ...(kind && { kind }) };
}

/** Secrets are read from files, because command lines are visible to other users. */
function optionFrom(field: Field, operation: Operation): OptionSpec {
  const { name, type, repeated, required, kind, values, secret, help } = field;
  if (secret)
    return { name: `${name}-file`, value: "FILE", help: `${help} Read from a file; - is standard input`, ...(required && { required }) };
  const isRequired = required && name !== "parent" && name !== "parent-id";
  return {
    name,
    help,
    ...(type === "bool" ? { negatable: true } : { value: placeholderOf(type, kind !== undefined) }),
    ...((repeated || type === "map") && { repeated: true }),
    ...(isRequired && { required }),
    ...(canClear(field, operation) && { mayBeEmpty: true }),
    ...(kind && { kind }),
    ...(values && { values: Object.keys(values) }),
  };
}

/** An empty text in the body sets a field to nothing. As a parameter of the query, it would be a filter that matches everything. */
function canClear({ type, proto, repeated, kind }: Field, { http: { body } }: Operation): boolean {
  const isInBody = body === "*" || proto.startsWith(`${body}.`);
  return isInBody && (type === "string" || type === "bytes") && !repeated && kind === undefined;
}

function placeholderOf(type: Field["type"], isReference: boolean): string {
  if (isReference) return "NAME|UID";
  return {
    string: "TEXT",
    number: "NUMBER",
    bool: "",
    enum: "VALUE",
    duration: "DURATION",
    time: "TIME",
    json: "JSON",
    bytes: "@FILE",
    map: "KEY=VALUE",
  }[type];
}

function ownOptions({ http, paged, flags }: Operation): OptionSpec[] {
  const takes = new Set(flags.map(({ name }) => name));
  return [
    ...(http.body === "" || takes.has("from-file")
      ? []
      : [{ name: "from-file", value: "FILE", help: "the fields as JSON or YAML; flags win; - is standard input" }]),
    ...(paged
      ? [
          { name: "limit", value: "NUMBER", help: "at most as many results; 100 by default" },
          { name: "all", help: "every result" },
        ]
      : []),
  ];
}
