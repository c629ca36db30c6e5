/** Parses the arguments of one command with commander, by its description. */
import { Argument, Command, CommanderError, Option } from "commander";
import { usageFailure } from "../failure.ts";
import type { ParsedLine } from "./create-invocation.ts";
import type { OptionValue } from "./invocation.ts";
import { globalOptions, type OptionSpec, type Verb } from "./verb.ts";

/** @throws Failure with the exit status for usage */
export function parseLine(verb: Verb, words: readonly string[]): ParsedLine {
  const command = new Command(verb.path)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: () => {} })
    .helpOption(false);
  const specs = [...(verb.options ?? []), ...globalOptions];
  for (const { name, optional, variadic, help } of verb.arguments ?? [])
    command.addArgument(
      new Argument(variadic ? `${optional ? "[" : "<"}${name}...${optional ? "]" : ">"}` : optional ? `[${name}]` : `<${name}>`, help),
    );
  // A file may set what is required; the command checks it then.
  const isOptional = specs.some(({ name }) => name === "from-file");
  const options = specs.flatMap((spec) => optionsFrom(spec, isOptional).map((option) => ({ spec, option })));
  for (const { option } of options) command.addOption(option);
  try {
    command.parse([...words], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) throw usageFailure(messageOf(error), `see: holt ${verb.path} --help`);
    throw error;
  }
  const given = command.opts();
  const values: Record<string, OptionValue> = {};
  for (const { spec, option } of options) {
    const value = given[option.attributeName()];
    if (value !== undefined) values[spec.name] = value as OptionValue;
  }
  rejectEmpty(
    verb,
    command.processedArgs,
    specs.filter(({ name }) => isEmpty(values[name])),
  );
  const named = (verb.arguments ?? []).map(({ name }, index) => [name, command.processedArgs[index] as string | undefined]);
  return { arguments: Object.fromEntries(named), options: values };
}

/** An unset variable of a script must not become a filter that matches everything, or the path of a whole collection. */
function rejectEmpty({ path, arguments: specs = [] }: Verb, values: readonly unknown[], emptyOptions: readonly OptionSpec[]): void {
  const argument = specs.find((_, index) => isEmpty(values[index]));
  const option = emptyOptions.find(({ mayBeEmpty }) => !mayBeEmpty);
  const empty = argument === undefined ? option && `option --${option.name}` : `argument ${argument.name.toUpperCase()}`;
  if (empty !== undefined) throw usageFailure(`the ${empty} is empty`, `see: holt ${path} --help`);
}

/** Also whether one of several values is empty. */
function isEmpty(value: unknown): boolean {
  return value === "" || (Array.isArray(value) && value.includes(""));
}

function optionsFrom({ name, short, value, help, repeated, required, negatable, values }: OptionSpec, isOptional: boolean): Option[] {
  const flags = `${short ? `-${short}, ` : ""}--${name}${value ? ` <${value}>` : ""}`;
  const option = new Option(flags, help);
  if (repeated) option.argParser((item: string, before: readonly string[] | undefined) => [...(before ?? []), item]);
  if (required && !isOptional) option.makeOptionMandatory();
  // Choices of repeated options are checked by `chosen`, because commander has one parser per option.
  if (values && value && !repeated) option.choices(values);
  // Together, so that the switch has no default: commander makes a `--no-x` alone true.
  return negatable ? [option, new Option(`--no-${name}`, help)] : [option];
}

/** Without commander's prefix, which the report adds in its own form. */
function messageOf({ message }: CommanderError): string {
  return message.replace(/^error: /, "").replace(/\n\(Did you mean (.*)\?\)$/, "; did you mean $1?");
}
