/** The commands `audit verify` and `audit export`, which need no running server. */
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { type CryptoKey, importJWK, type JWK } from "jose";
import { readChainEntries } from "../auditing/chain/chain-entries.ts";
import { type CheckpointVerdict, type FindKey, lastJws, verifyCheckpoint } from "../auditing/chain/checkpoint.ts";
import { type ChainResult, verifyChain } from "../auditing/chain/read-chain.ts";
import { findStray } from "../auditing/chain/strays.ts";
import { lineOf } from "../auditing/entry-line.ts";
import { type LinesResult, verifyLines } from "../auditing/verify-lines.ts";
import type { Config } from "../config.ts";
import type { ReadDb, Store } from "../db/store.ts";
import { linesIn } from "../lib/lines-in.ts";
import { isUid } from "../lib/uid.ts";
import { findOrganization } from "./find-organization.ts";
import { type Installation, openInstallation } from "./open-installation.ts";
import { type CommandSpec, refuse, withOptions } from "./parse-options.ts";

const AUDIT_USAGE = `Usage: holtd audit verify [ORG]
       holtd audit verify --file FILE [--jwks FILE]
       holtd audit export [ORG]

verify   follow the hash chains of all organizations and of the server, or that
         of one organization, and check the signed checkpoints. Names the first
         entry of each chain that was changed, removed or inserted; the exit
         status is then 1. With --file, verify an export or a stream of entries
         instead, without a database. --jwks is a copy of the keys that the
         server publishes at /.well-known/jwks.json or of its jwks_uri. The exit
         status is then also 1 unless one of these keys signed the newest
         checkpoint of each chain in the file. Streams have no checkpoints.
export   print the entries as JSON lines, and the newest checkpoint. Without
         ORG, the entries of the server itself.

ORG is the uid or the name of an organization. Settings are environment
variables, as for the server.`;

const SPEC: CommandSpec = {
  usage: AUDIT_USAGE,
  options: { file: { type: "string" }, jwks: { type: "string" } },
  positionals: undefined,
};

/** @returns the exit status */
export async function runAudit(args: readonly string[], read: () => Promise<Config>): Promise<number> {
  return withOptions(SPEC, args, async ({ positionals: [verb, ...rest], values: { file, jwks } }) => {
    const organization = rest.join(" ");
    if (verb === "verify" && typeof file === "string") return verifyFile(file, typeof jwks === "string" ? jwks : undefined);
    if (verb === "verify") return verifyDatabase(await read(), organization);
    if (verb === "export") return exportChain(await read(), organization);
    return refuse('give "verify" or "export"', SPEC);
  });
}

function print(text: string): number {
  console.log(text);
  return 0;
}

async function verifyDatabase(config: Config, organization: string): Promise<number> {
  await using installation = await openInstallation(config, { use: "command" });
  const { store } = installation;
  const only = organization === "" ? undefined : await findChain(organization, store.reader);
  const { chains, problems } = await verifyAudit(installation, (line) => console.log(line), only);
  if (chains === 0) console.log("There are no audit entries yet.");
  return problems > 0 ? 1 : 0;
}

/**
 * Verifies one chain, or all of them and that no row is in none.
 * @param say called with a line for each chain and each problem
 */
export async function verifyAudit(
  installation: Installation,
  say: (line: string, isProblem: boolean) => void,
  only?: string,
): Promise<{ chains: number; problems: number }> {
  const { store } = installation;
  const findKey = await keysOf(installation);
  const chains = only === undefined ? await allChains(store.reader) : [only];
  let problems = 0;
  for (const chain of chains) {
    const result = await verifyWhole(store, chain, findKey);
    if (result.problem !== undefined) problems++;
    say(`${nameOf(chain)}: ${summaryOf(result)}`, result.problem !== undefined);
  }
  const stray = only === undefined ? await store.snapshot(findStray) : undefined;
  if (stray === undefined) return { chains: chains.length, problems };
  say(`NOT INTACT: the row ${stray} of audit_entry was inserted: no chain has it`, true);
  return { chains: chains.length, problems: problems + 1 };
}

async function keysOf(installation: Installation): Promise<FindKey> {
  const keys = await installation.openKeys();
  return async (kid) => (await keys.byKid(kid))?.publicKey;
}

function verifyWhole(store: Store, organization: string, findKey: FindKey): Promise<ChainResult> {
  const range = { organization, after: undefined, maxEntries: Number.POSITIVE_INFINITY };
  return store.snapshot((db) => verifyChain(db, range, findKey));
}

function summaryOf({ count, problem, checkpoint }: ChainResult): string {
  if (problem !== undefined) return `NOT INTACT: ${problem.description} (${count} entries before it are intact)`;
  const signed =
    checkpoint === undefined ? "no checkpoint yet" : `checkpoint at entry ${checkpoint.number}: signature ${checkpoint.verdict}`;
  return `intact, ${count} entries, ${signed}`;
}

async function allChains(db: ReadDb): Promise<string[]> {
  return (await db.selectFrom("audit_chain").select("org_uid").orderBy("org_uid").execute()).map(({ org_uid }) => org_uid);
}

/** A deleted organization has a uid but no name. */
async function findChain(uidOrName: string, db: ReadDb): Promise<string> {
  const uid = isUid(uidOrName) ? uidOrName : (await findOrganization(uidOrName, db)).uid;
  const chain = await db.selectFrom("audit_chain").select("org_uid").where("org_uid", "=", uid).executeTakeFirst();
  if (chain === undefined) throw new Error(`there are no audit entries of an organization "${uidOrName}"`);
  return chain.org_uid;
}

const ENTRIES_PER_READ = 500;

async function exportChain(config: Config, organization: string): Promise<number> {
  await using installation = await openInstallation(config, { use: "command", command: `audit export ${organization}`.trim() });
  const { reader } = installation.store;
  const chain = organization === "" ? "" : await findChain(organization, reader);
  for (let after = -1; ; ) {
    const { entries } = await readChainEntries(reader, chain, after, ENTRIES_PER_READ);
    for (const entry of entries) console.log(lineOf(entry));
    const last = entries.at(-1);
    if (last === undefined) break;
    after = last.number;
  }
  const jws = await lastJws(reader, chain);
  if (jws !== undefined) console.log(JSON.stringify({ checkpoint: jws }));
  return 0;
}

async function verifyFile(path: string, jwksPath: string | undefined): Promise<number> {
  const { chains, checkpoints, problem } = await verifyLines(linesIn(createReadStream(path)));
  if (problem !== undefined) {
    console.log(`NOT INTACT: line ${problem.line}: ${problem.description}`);
    return 1;
  }
  for (const [chain, { first, last }] of chains) console.log(`${nameOf(chain)}: entries ${first} to ${last} are intact`);
  if (jwksPath !== undefined) return verifySignatures({ chains, checkpoints }, jwksPath);
  return checkpoints.length === 0 ? 0 : print("The signatures of checkpoints were not verified; give --jwks.");
}

/** The keys of older checkpoints may be gone after a rotation, so only the newest checkpoint of each chain must be valid. */
async function verifySignatures({ chains, checkpoints }: Pick<LinesResult, "chains" | "checkpoints">, jwksPath: string): Promise<number> {
  const findKey = await readKeys(jwksPath);
  const newest = new Map<string, NewestCheckpoint>();
  let isValid = checkpoints.length > 0;
  if (!isValid) console.log("NOT VERIFIED: the file has no checkpoint");
  for (const jws of checkpoints) {
    const { verdict, checkpoint } = await verifyCheckpoint(jws, findKey);
    console.log(`checkpoint at entry ${checkpoint?.number ?? "?"}: signature ${verdict}`);
    isValid &&= verdict !== "invalid";
    if (checkpoint === undefined) continue;
    const { organization, number } = checkpoint;
    if (number >= (newest.get(organization)?.number ?? 0)) newest.set(organization, { number, verdict });
  }
  for (const chain of new Set([...chains.keys(), ...newest.keys()])) {
    const doubt = doubtOf(chains.get(chain)?.first, newest.get(chain));
    if (doubt === undefined) continue;
    console.log(`NOT VERIFIED: ${nameOf(chain)}: ${doubt}`);
    isValid = false;
  }
  return isValid ? 0 : 1;
}

interface NewestCheckpoint {
  readonly number: number;
  readonly verdict: CheckpointVerdict;
}

/** Why the signatures do not verify a chain; undefined if they do. @param first number of its first entry in the file */
function doubtOf(first = 0, newest?: NewestCheckpoint): string | undefined {
  if (newest === undefined || newest.number < first) return "no checkpoint covers its entries";
  return newest.verdict === "valid" ? undefined : "its newest checkpoint is not signed with one of the given keys";
}

async function readKeys(jwksPath: string): Promise<FindKey> {
  const { keys } = JSON.parse(await readFile(jwksPath, "utf8")) as { keys: JWK[] };
  return async (kid) => {
    const jwk = keys.find((key) => key.kid === kid);
    return jwk && ((await importJWK(jwk, "RS256")) as CryptoKey);
  };
}

/** The name of a chain for messages. */
function nameOf(chain: string): string {
  return chain === "" ? "server" : chain;
}
