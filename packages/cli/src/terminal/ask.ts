/** Asks the person at the terminal. The question is on standard error, so that it is not part of the output. */
import { createInterface } from "node:readline/promises";
import { exitStatus, Failure, usageFailure } from "../failure.ts";

/** @throws Failure if the answer is not yes, or if nobody can answer */
export async function confirm(question: string, { isSkipped, signal }: { isSkipped: boolean; signal: AbortSignal }): Promise<void> {
  if (isSkipped) return;
  if (!process.stdin.isTTY) throw usageFailure(`nobody can answer the question: ${question}`, "repeat the command with --yes");
  const answer = await ask(`${question} [y/N] `, signal);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("nothing was changed", { status: exitStatus.failed });
}

export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await reader.question(question, { signal });
  } finally {
    reader.close();
  }
}

/** All of standard input as text. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}
