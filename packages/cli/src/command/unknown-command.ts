/** Suggests the command that a mistyped word was meant to be. */
import { type Failure, usageFailure } from "../failure.ts";
import type { CommandEntry } from "../generated.ts";
import { childrenOf } from "./find-command.ts";

const MAX_DISTANCE = 3;

export function unknownCommand(commands: readonly CommandEntry[], words: readonly string[], unknown: string): Failure {
  const names = childrenOf(commands, words).map(({ name }) => name);
  const [nearest] = names.map((name) => ({ name, distance: distance(name, unknown) })).sort((a, b) => a.distance - b.distance);
  const command = ["holt", ...words].join(" ");
  const isNear = nearest !== undefined && nearest.distance <= Math.min(MAX_DISTANCE, unknown.length / 2);
  const advice = isNear ? `did you mean: ${command} ${nearest.name}` : `see: ${command} --help`;
  return usageFailure(`there is no command "${command} ${unknown}"`, advice);
}

/** The number of characters to insert, delete or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, character] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++)
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (b[j] === character ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}
