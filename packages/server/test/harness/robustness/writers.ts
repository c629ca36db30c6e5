/** Concurrent writers, each in its own folder, which record acknowledged writes and writes with unknown outcome. */
import { Agent } from "node:http";
import { builtInRoles } from "../../../src/iam/grants/built-in-roles.ts";
import { type HttpAnswer, send } from "../clients.ts";
import type { Random } from "../random.ts";

export type Kind = "group" | "identity" | "role_binding";

/** The known state of one resource of a writer. */
export interface Known {
  readonly kind: Kind;
  readonly uid: string;
  /** The bound identity, for a binding. */
  readonly identityUid: string;
  /** The description in the last acknowledged answer. */
  description: string;
  /** Number of acknowledged updates. */
  updates: number;
  /** Deleted by its own call, or together with the bound identity. */
  state: "there" | "deleted" | "gone";
  /** The description that an unanswered update may have stored. */
  maybeDescription?: string | undefined;
  /** True if a delete was not answered. */
  maybeDeleted?: boolean | undefined;
}

/** An unanswered create. Its resource is recognized by its name, or for a binding by the bound identity. */
export interface Pending {
  readonly kind: Kind;
  readonly parent: string;
  readonly name: string;
  readonly identityUid: string;
}

export interface Ledger {
  readonly known: Map<string, Known>;
  pending: Pending[];
  acknowledged: number;
}

export interface WriterOptions {
  readonly baseUrl: string;
  readonly token: string;
  /** The folder in which only this writer writes. */
  readonly home: string;
  readonly name: string;
  readonly random: Random;
  readonly ledger: Ledger;
}

const VIEWER = builtInRoles.find((role) => role.name === "viewer")?.uid ?? "";
const PATHS = { group: "groups", identity: "identities", role_binding: "roleBindings" } as const;

let serial = 0;

/** Writes until the server is gone. Rejects if a write is refused. */
export async function writeUntilGone(options: WriterOptions): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    while (await writeOnce(options, agent));
  } finally {
    agent.destroy();
  }
}

async function writeOnce(options: WriterOptions, agent: Agent): Promise<boolean> {
  const { ledger, random, home } = options;
  const mine = [...ledger.known.values()].filter(({ uid, state }) => state === "there" && uid.startsWith(`${home}/`)).slice(-40);
  const groups = mine.filter(({ kind }) => kind === "group");
  const identities = mine.filter(({ kind }) => kind === "identity");
  const parent = groups.length > 0 && random.oneIn(2) ? random.pick(groups).uid : home;
  const choice = random.below(10);
  if (choice < 3) return createResource(options, agent, "group", parent, "");
  if (choice < 5) return createResource(options, agent, "identity", parent, "");
  if (choice < 7 && identities.length > 0) {
    // Each identity is bound once per group, and only where it can act.
    const free = identities.filter(({ uid }) => !mine.some((other) => other.identityUid === uid));
    const identity = free.length > 0 ? random.pick(free) : undefined;
    if (identity === undefined) return true;
    return createResource(options, agent, "role_binding", identity.uid.slice(0, identity.uid.lastIndexOf("/")), identity.uid);
  }
  const target = mine.length === 0 ? undefined : random.pick(mine);
  if (target === undefined) return true;
  if (choice === 9) return deleteResource(options, agent, target, mine);
  return target.kind === "role_binding" ? true : updateResource(options, agent, target);
}

/** Undefined without an answer. */
async function call({ baseUrl, token }: WriterOptions, agent: Agent, verb: string, path: string, body?: object) {
  let answer: HttpAnswer;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    answer = await send(agent, baseUrl, verb, path, { authorization: `Bearer ${token}` }, text);
  } catch {
    return undefined;
  }
  if (answer.status !== 200) throw new Error(`${verb} ${path} was answered ${answer.status} ${answer.text}`);
  return answer.text === "" ? {} : (JSON.parse(answer.text) as { uid?: string; description?: string });
}

async function createResource(options: WriterOptions, agent: Agent, kind: Kind, parent: string, identityUid: string): Promise<boolean> {
  const { ledger } = options;
  const name = `${options.name}-${serial++}`;
  const claimMatch = { issuer: "https://issuer.example.com", subject: name };
  const body = { group: { name }, identity: { name, claimMatch }, role_binding: { identityUid, roleUid: VIEWER } }[kind];
  const answer = await call(options, agent, "POST", `/iam/v2/${PATHS[kind]}/${parent}`, body);
  if (answer === undefined) {
    ledger.pending.push({ kind, parent, name, identityUid });
    return false;
  }
  const uid = answer.uid ?? "";
  ledger.known.set(uid, { kind, uid, identityUid, description: "", updates: 0, state: "there" });
  ledger.acknowledged++;
  return true;
}

async function updateResource(options: WriterOptions, agent: Agent, target: Known): Promise<boolean> {
  const description = `written ${serial++}`;
  const answer = await call(options, agent, "PATCH", `/iam/v2/${PATHS[target.kind]}/${target.uid}`, { description });
  if (answer === undefined) {
    target.maybeDescription = description;
    return false;
  }
  if (answer.description !== description) throw new Error(`an update of ${target.uid} answers "${answer.description}"`);
  target.description = description;
  target.updates++;
  options.ledger.acknowledged++;
  return true;
}

async function deleteResource(options: WriterOptions, agent: Agent, target: Known, mine: readonly Known[]): Promise<boolean> {
  // Deleting a group or an identity also deletes bindings, so a writer only deletes those whose bindings are known.
  if (target.kind === "group" && mine.some(({ uid }) => uid.startsWith(`${target.uid}/`))) return true;
  const hasOlder = [...options.ledger.known.values()].some(({ uid, state }) => state === "there" && uid.startsWith(`${target.uid}/`));
  if (target.kind === "group" && hasOlder) return true;
  const answer = await call(options, agent, "DELETE", `/iam/v2/${PATHS[target.kind]}/${target.uid}`);
  if (answer === undefined) {
    target.maybeDeleted = true;
    return false;
  }
  markDeleted(target, options.ledger);
  options.ledger.acknowledged++;
  return true;
}

export function markDeleted(target: Known, { known }: Ledger): void {
  target.state = "deleted";
  if (target.kind !== "identity") return;
  for (const other of known.values()) if (other.identityUid === target.uid && other.state === "there") other.state = "gone";
}
