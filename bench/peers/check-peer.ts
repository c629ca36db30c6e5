/** A program that answers whether a user may view a group, over HTTP. */
import type { BareServer } from "../process.ts";

export interface CheckPeer extends BareServer {
  readonly label: string;
  readonly path: string;
  readonly authorization: string | undefined;
  /** Bodies of questions that all have the answer yes. */
  readonly bodies: readonly object[];
  isAllowed(answer: unknown): boolean;
}

/** @throws Error unless the status is 2xx */
export async function postJson(port: number, path: string, body: object, authorization?: string): Promise<unknown> {
  const headers = { "content-type": "application/json", ...(authorization !== undefined && { authorization }) };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`);
  return text === "" ? {} : JSON.parse(text);
}
