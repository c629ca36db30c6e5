/** The help of a command and of a group of commands. Pure. The documents show the same descriptions. */
import type { CommandEntry } from "../generated.ts";
import { childrenOf } from "./find-command.ts";
import { type ArgumentSpec, globalOptions, type OptionSpec, type Verb } from "./verb.ts";

const WIDTH = 100;

export function helpOfVerb(verb: Verb): string {
  const { summary, description, examples = [], options = [] } = verb;
  const args = verb.arguments ?? [];
  const parts = [
    `Usage: ${usageOf(verb)}`,
    summary,
    ...(description === undefined ? [] : [wrap(description, "")]),
    ...(args.length === 0
      ? []
      : [
          section(
            "Arguments",
            args.map((argument) => [argument.name, helpOfArgument(argument)]),
          ),
        ]),
    ...(options.length === 0 ? [] : [section("Options", options.map(rowOfOption))]),
    section("Options of every command", globalOptions.map(rowOfOption)),
    ...(examples.length === 0 ? [] : [`Examples:\n${examples.map((example) => `  ${example}`).join("\n")}`]),
  ];
  return `${parts.join("\n\n")}\n`;
}

export function helpOfGroup(commands: readonly CommandEntry[], words: readonly string[]): string {
  const children = childrenOf(commands, words);
  const rows = children.map(({ name, entry }): [string, string] => [name, entry?.summary ?? summaryOfGroup(commands, [...words, name])]);
  const isRoot = words.length === 0;
  const isWritten = (name: string) => commands.some(({ path, kind }) => kind === "verb" && path.split(" ")[0] === name);
  const sections = isRoot
    ? [
        section(
          "Commands",
          rows.filter(([name]) => isWritten(name)),
        ),
        section(
          "Every operation of the API, by domain",
          rows.filter(([name]) => !isWritten(name)),
        ),
      ]
    : [section("Commands", rows)];
  const name = ["holt", ...words].join(" ");
  const head = isRoot ? ["The command line of Holt: groups, access, images, packages, advisories and events."] : [];
  return `${[`Usage: ${name} COMMAND`, ...head, ...sections, `${name} COMMAND --help explains a command.`].join("\n\n")}\n`;
}

export function usageOf({ path, arguments: args = [], options = [] }: Verb): string {
  const required = options.filter((option) => option.required).map(({ name, value }) => `--${name} ${value}`);
  const positional = args.map(({ name, optional, variadic }) => {
    const shown = `${name.toUpperCase()}${variadic ? "..." : ""}`;
    return optional ? `[${shown}]` : shown;
  });
  const others = options.length > required.length ? ["[OPTIONS]"] : [];
  return ["holt", path, ...positional, ...required, ...others].join(" ");
}

export function flagsOf({ name, short, value, negatable }: OptionSpec): string {
  return `${short ? `-${short}, ` : ""}--${negatable ? "[no-]" : ""}${name}${value ? ` ${value}` : ""}`;
}

export function helpOfOption({ help, values, repeated, required }: OptionSpec): string {
  const shown = values && values.length > 0 && values.length <= 12 && !help.includes(values[0] ?? "") ? `one of ${values.join(", ")}` : "";
  const notes = [shown, repeated ? "repeatable" : "", required ? "required" : ""].filter((note) => note !== "");
  const text = help === "" ? "" : help.replace(/\.$/, "");
  return [text, notes.length === 0 ? "" : `(${notes.join("; ")})`].filter((part) => part !== "").join(" ");
}

export function helpOfArgument({ help }: ArgumentSpec): string {
  return help.replace(/\.$/, "");
}

function rowOfOption(option: OptionSpec): [string, string] {
  return [flagsOf(option), helpOfOption(option)];
}

function summaryOfGroup(commands: readonly CommandEntry[], words: readonly string[]): string {
  const names = childrenOf(commands, words).map(({ name }) => name);
  return names.length > 6 ? `${names.slice(0, 6).join(", ")} …` : names.join(", ");
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.min(28, Math.max(0, ...rows.map(([name]) => name.length)));
  const lines = rows.map(([name, text]) => {
    const indent = " ".repeat(width + 4);
    const body = wrap(text, indent);
    return name.length > width ? `  ${name}\n${indent}${body}` : `  ${name.padEnd(width)}  ${body}`;
  });
  return `${title}:\n${lines.map((line) => line.trimEnd()).join("\n")}`;
}

function wrap(text: string, indent: string): string {
  const width = WIDTH - indent.length;
  return text
    .split("\n")
    .map((line) =>
      line
        .replace(new RegExp(`(.{1,${width}})(?: +|$)`, "g"), "$1\n")
        .trimEnd()
        .replaceAll("\n", `\n${indent}`),
    )
    .join(`\n${indent}`);
}
