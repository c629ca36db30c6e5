/** The command `holtd health`: asks the server of these settings whether it is alive, for images without an HTTP client. */
import { type Config, loadConfig } from "../config.ts";

const TIMEOUT_MS = 5_000;

/** @throws Error unless the server answers */
export async function checkHealth(): Promise<void> {
  const url = `${addressOf(await loadConfig())}/healthz`;
  const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => {
    throw new Error(`the server at ${url} does not answer: ${(error.cause as Error | undefined)?.message ?? error.message}`);
  });
  if (!ok) throw new Error(`the server at ${url} answers with status ${status}`);
}

/** A certificate is valid for the public name only. */
function addressOf({ listen: { host, port }, tlsCert, baseUrl }: Config): string {
  if (tlsCert !== "") return baseUrl;
  const local = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${local.includes(":") ? `[${local}]` : local}:${port}`;
}
