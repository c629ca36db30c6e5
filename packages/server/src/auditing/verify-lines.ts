/** Verifies entries in a file, an export or a stream, without a database. */
import type { ChainEntry } from "./chain/block.ts";
import { payloadOf } from "./chain/checkpoint.ts";
import { hashOf, hashText, rawHash } from "./chain/hash.ts";
import { checkpointFromLine, entryFromLine } from "./entry-line.ts";

export interface LinesResult {
  /** The entries of each chain, by organization. */
  readonly chains: ReadonlyMap<string, { readonly first: number; readonly last: number }>;
  /** Signed checkpoints. They agree with the entries; their signatures are not verified. */
  readonly checkpoints: readonly string[];
  readonly problem: { readonly line: number; readonly description: string } | undefined;
}

interface Chain {
  readonly first: number;
  last: number;
  /** By number: streams may repeat entries, and a checkpoint names any of them. */
  readonly hashes: Map<number, string>;
}

export async function verifyLines(lines: AsyncIterable<string>): Promise<LinesResult> {
  const chains = new Map<string, Chain>();
  const checkpoints: string[] = [];
  let line = 0;
  const result = (description?: string): LinesResult => ({
    chains,
    checkpoints,
    problem: description === undefined ? undefined : { line, description },
  });
  for await (const text of lines) {
    line++;
    if (text.trim() === "") continue;
    const jws = checkpointFromLine(text);
    const entry = jws === undefined ? entryFromLine(text) : undefined;
    if (jws === undefined && entry === undefined) return result("it is neither an entry nor a checkpoint");
    const found = jws === undefined ? addEntry(chains, entry as ChainEntry) : checkAgainst(chains, jws);
    if (found !== undefined) return result(found);
    if (jws !== undefined) checkpoints.push(jws);
  }
  return result();
}

/** The first entry of a file is believed to follow the hash before it, unless it is the first of its chain. */
function addEntry(chains: Map<string, Chain>, entry: ChainEntry): string | undefined {
  const { organization, number, hash } = entry;
  const chain = chains.get(organization);
  if (chain === undefined) {
    if (number === 1 && hashAfter("", entry) !== hash) return `entry ${number} was changed`;
    chains.set(organization, { first: number, last: number, hashes: new Map([[number, hash]]) });
    return undefined;
  }
  const previous = chain.hashes.get(number - 1);
  const known = chain.hashes.get(number);
  if (known !== undefined && known === hash && (previous === undefined || hashAfter(previous, entry) === hash)) return undefined;
  if (number > chain.last + 1) return `entry ${chain.last + 1} was removed`;
  if (number <= chain.last) return `entry ${number} was inserted: another entry has the same number`;
  if (hashAfter(previous ?? "", entry) !== hash) return `entry ${number} was changed`;
  chain.hashes.set(number, hash);
  chain.last = number;
  return undefined;
}

function hashAfter(previous: string, { content = "" }: ChainEntry): string {
  return hashText(hashOf(rawHash(previous), content));
}

function checkAgainst(chains: ReadonlyMap<string, Chain>, jws: string): string | undefined {
  const checkpoint = payloadOf(jws);
  if (checkpoint === undefined) return "it is not a checkpoint";
  const { organization, number, hash } = checkpoint;
  const chain = chains.get(organization);
  if (chain === undefined || number < chain.first) return undefined;
  if (number > chain.last) return `entry ${chain.last + 1} was removed: a signed checkpoint covers it`;
  return chain.hashes.get(number) === hash ? undefined : `entry ${number} was changed: a signed checkpoint has another hash`;
}
