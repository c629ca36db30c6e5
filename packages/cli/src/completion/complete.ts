/**
 * Prints what can follow the words of a command line, one per line with a tab and an explanation. The scripts of the shells
 * call it on every Tab, so it loads no more than it needs and never fails.
 */
import { childrenOf, findCommand } from "../command/find-command.ts";
import { type ArgumentSpec, globalOptions, type OptionSpec, type Verb } from "../command/verb.ts";
import { readCommands } from "../generated.ts";

interface Candidate {
  readonly text: string;
  readonly help: string;
}

/** @param words those before the cursor; the last one is begun, and may be empty */
export async function printCompletions(words: readonly string[]): Promise<void> {
  const begun = words.at(-1) ?? "";
  const candidates = await candidatesFor(words.slice(0, -1), begun).catch(() => []);
  const fitting = candidates.filter(({ text }) => text.startsWith(begun));
  process.stdout.write(fitting.map(({ text, help }) => `${text}\t${help.split("\n")[0]}\n`).join(""));
}

async function candidatesFor(before: readonly string[], begun: string): Promise<Candidate[]> {
  const commands = readCommands();
  const { entry, words, rest } = findCommand(commands, before);
  if (entry === undefined || (rest.length === 0 && commands.some(({ path }) => path.startsWith(`${entry.path} `)))) {
    if (rest.length > 0) return [];
    return childrenOf(commands, words).map(({ name, entry: child }) => ({ text: name, help: child?.summary ?? "" }));
  }
  const { loadVerb } = await import("../command/load-verb.ts");
  const verb = await loadVerb(entry);
  return candidatesOfVerb(verb, rest, begun);
}

async function candidatesOfVerb(verb: Verb, rest: readonly string[], begun: string): Promise<Candidate[]> {
  const options = [...(verb.options ?? []), ...globalOptions];
  const last = optionNamed(options, rest.at(-1));
  if (last?.value !== undefined) return valuesOf(last, rest);
  if (begun.startsWith("-")) return options.flatMap(wordsOfOption);
  const argument = argumentAt(verb, countArguments(options, rest));
  return argument === undefined ? [] : valuesOf(argument, rest);
}

async function valuesOf({ name, kind, values }: ArgumentSpec | OptionSpec, rest: readonly string[]): Promise<Candidate[]> {
  if (values !== undefined) return values.map((text) => ({ text, help: "" }));
  if (kind === undefined && name !== "context") return [];
  const { namesOfContexts, namesOfResources } = await import("./names.ts");
  if (kind === undefined) return namesOfContexts().map((text) => ({ text, help: "context" }));
  const at = rest.indexOf("--context");
  return namesOfResources(kind, at < 0 ? undefined : rest[at + 1]);
}

function wordsOfOption({ name, negatable, help }: OptionSpec): Candidate[] {
  return [`--${name}`, ...(negatable ? [`--no-${name}`] : [])].map((text) => ({ text, help }));
}

function optionNamed(options: readonly OptionSpec[], word: string | undefined): OptionSpec | undefined {
  return options.find(({ name, short }) => word === `--${name}` || (short !== undefined && word === `-${short}`));
}

/** The number of arguments before the cursor, without options and their values. */
function countArguments(options: readonly OptionSpec[], words: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < words.length; index++) {
    const option = optionNamed(options, words[index]);
    if (option?.value !== undefined) index++;
    else if (!words[index]?.startsWith("-")) count++;
  }
  return count;
}

function argumentAt({ arguments: args = [] }: Verb, index: number): ArgumentSpec | undefined {
  const last = args.at(-1);
  return args[index] ?? (last?.variadic ? last : undefined);
}
