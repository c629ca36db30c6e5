/** Starts the program of a peer and waits until it answers. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type BareServer, stop } from "../process.ts";

export interface PeerProgram {
  readonly program: string;
  readonly args: readonly string[];
  readonly port: number;
  /** Answers when the peer is ready. */
  readonly path: string;
  readonly env?: Readonly<Record<string, string>>;
}

const POLL_MS = 100;

/** @throws Error if the program ends before it is ready */
export async function startPeer({ program, args, port, path, env = {} }: PeerProgram): Promise<BareServer> {
  const child = spawn(program, args, { stdio: "ignore", env: { ...process.env, ...env } });
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    await sleep(POLL_MS);
  }
  return { port, pid: serverOf(child.pid ?? 0), [Symbol.asyncDispose]: () => stop(child) };
}

/** A script that runs its server as its only child is not measured itself. */
function serverOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return children.length === 1 && children[0] !== "" ? serverOf(Number(children[0])) : pid;
}
