/** Finds the command that the first words of a line name. */
import type { CommandEntry } from "../generated.ts";
import { globalOptions } from "./verb.ts";

export interface FoundCommand {
  /** Undefined if the words name a group of commands, or nothing. */
  readonly entry: CommandEntry | undefined;
  /** The words that name a command or a group of them. */
  readonly words: readonly string[];
  readonly rest: readonly string[];
}

const TAKES_VALUE = new Set(
  globalOptions.filter(({ value }) => value !== undefined).flatMap(({ name, short }) => [`--${name}`, ...(short ? [`-${short}`] : [])]),
);

/** The first word of a line without a command that is not an option of every command, nor the value of one. */
export function firstUnknown(rest: readonly string[]): string | undefined {
  for (let index = 0; index < rest.length; index++) {
    const [word = ""] = (rest[index] ?? "").split("=", 1);
    if (TAKES_VALUE.has(word)) index += word === rest[index] ? 1 : 0;
    else if (!isGlobal(word)) return rest[index];
  }
  return undefined;
}

function isGlobal(word: string): boolean {
  return word === "--" || globalOptions.some(({ name, short }) => word === `--${name}` || (short !== undefined && word === `-${short}`));
}

/** Options before and between the words are moved behind them. */
export function findCommand(commands: readonly CommandEntry[], line: readonly string[]): FoundCommand {
  const words: string[] = [];
  const options: string[] = [];
  let index = 0;
  for (; index < line.length; index++) {
    const word = line[index] ?? "";
    if (word === "--") break;
    if (word.startsWith("-")) {
      options.push(word);
      const value = line[index + 1];
      if (TAKES_VALUE.has(word) && value !== undefined) {
        options.push(value);
        index++;
      }
      continue;
    }
    if (!isPrefix(commands, [...words, word])) break;
    words.push(word);
    const exact = commands.find(({ path }) => path === words.join(" "));
    if (exact !== undefined && !hasChildren(commands, exact.path))
      return { entry: exact, words, rest: [...options, ...line.slice(index + 1)] };
  }
  const entry = commands.find(({ path }) => path === words.join(" "));
  return { entry, words, rest: [...options, ...line.slice(index)] };
}

/** Names of the commands and groups below these words, with their summaries. */
export function childrenOf(
  commands: readonly CommandEntry[],
  words: readonly string[],
): { readonly name: string; readonly entry: CommandEntry | undefined }[] {
  const prefix = words.length === 0 ? "" : `${words.join(" ")} `;
  const names = new Set(
    commands.filter(({ path }) => path.startsWith(prefix)).map(({ path }) => path.slice(prefix.length).split(" ")[0] ?? ""),
  );
  return [...names].sort().map((name) => ({ name, entry: commands.find(({ path }) => path === `${prefix}${name}`) }));
}

function isPrefix(commands: readonly CommandEntry[], words: readonly string[]): boolean {
  const text = words.join(" ");
  return commands.some(({ path }) => path === text || path.startsWith(`${text} `));
}

function hasChildren(commands: readonly CommandEntry[], path: string): boolean {
  return commands.some((other) => other.path.startsWith(`${path} `));
}
