/** Checks that an address is that of a Holt server, before a person is sent to a page there. */
import type { Rest } from "@holt/client/rest";
import { exitStatus, Failure } from "../failure.ts";

/** @throws Failure if another server answers, and the error of the call if none does */
export async function assertServer(baseUrl: string, rest: Rest, signal: AbortSignal): Promise<void> {
  const issuer = await rest
    .call({ method: "GET", path: "/.well-known/openid-configuration", signal })
    .then((answer) => (answer as { issuer?: unknown } | undefined)?.issuer)
    .catch((error: { name?: string; code?: string }) => {
      if (error.name === "SyntaxError" || error.code === "NOT_FOUND") return undefined;
      throw error;
    });
  if (typeof issuer === "string") return;
  throw new Failure(`${baseUrl} is not a Holt server`, { advice: "check the address", status: exitStatus.usage });
}
