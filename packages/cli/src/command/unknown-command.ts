/** Suggests the command that a mistyped or misplaced word was meant to be, and refuses options without a command. */
import { type Failure, usageFailure } from "../failure.ts";
import type { CommandEntry } from "../generated.ts";
import { childrenOf } from "./find-command.ts";
import { nearest } from "./nearest.ts";

export function unknownCommand(commands: readonly CommandEntry[], words: readonly string[], unknown: string): Failure {
  const command = ["holt", ...words].join(" ");
  if (unknown.startsWith("-")) return usageFailure(`unknown option '${unknown}'`, `see: ${command} --help`);
  const found = elsewhere(commands, [...words, unknown]) ?? nearChild(commands, words, unknown) ?? nearGroup(commands, unknown);
  const advice = found === undefined ? `see: ${command} --help` : `did you mean: holt ${found}`;
  return usageFailure(`there is no command "${command} ${unknown}"`, advice);
}

function nearChild(commands: readonly CommandEntry[], words: readonly string[], unknown: string): string | undefined {
  const names = childrenOf(commands, words).map(({ name }) => name);
  const name = nearest(unknown, names);
  return name && [...words, name].join(" ");
}

/** `roles list` is `iam roles list`, and `groups` is `iam groups`. */
function elsewhere(commands: readonly CommandEntry[], words: readonly string[]): string | undefined {
  const isVerb = words.length > 1;
  const paths = isVerb ? commands.map(({ path }) => path) : groupsOf(commands);
  return shortest(paths.filter((path) => path.endsWith(` ${words.join(" ")}`)));
}

function nearGroup(commands: readonly CommandEntry[], unknown: string): string | undefined {
  const groups = groupsOf(commands);
  const name = nearest(unknown, [...new Set(groups.map(lastWord))]);
  return shortest(groups.filter((path) => lastWord(path) === name));
}

/** The words before the last one of each command: the kinds of resources. */
function groupsOf(commands: readonly CommandEntry[]): string[] {
  return [...new Set(commands.map(({ path }) => path.split(" ").slice(0, -1).join(" ")))];
}

/** Version 1 of the API has longer paths than version 2. */
function shortest(paths: readonly string[]): string | undefined {
  return [...paths].sort((a, b) => a.split(" ").length - b.split(" ").length || (a < b ? -1 : 1))[0];
}

function lastWord(path: string): string {
  return path.slice(path.lastIndexOf(" ") + 1);
}
