/** holt credential-helper: the protocol by which docker, podman, skopeo, crane and helm ask other programs for credentials. */

import type { Verb } from "../command/verb.ts";
import { tokenOfContext } from "../contexts/access-token.ts";
import { findContextOfHost, readContexts } from "../contexts/contexts.ts";
import { Failure, usageFailure } from "../failure.ts";
import { readStandardInput } from "../terminal/ask.ts";

/** The user name by which a password is an access token (docs/registry.md). */
const USER = "_token";
const ACTIONS = ["get", "list", "store", "erase"];

export const verb: Verb = {
  path: "credential-helper",
  summary: "Answer clients of the registry that ask for a credential.",
  description:
    "Speaks docker's protocol: the action is the argument, and the host is on standard input. docker-credential-holt runs it. " +
    "store and erase change nothing, because holt login and holt logout manage the credentials.",
  arguments: [{ name: "action", values: ACTIONS, help: ACTIONS.join(", ") }],
  async run({ argument, contextName, signal }) {
    const action = argument("action");
    if (!ACTIONS.includes(action)) throw usageFailure(`there is no action "${action}"`, `use one of ${ACTIONS.join(", ")}`);
    if (action === "list")
      return print(Object.fromEntries(Object.values(readContexts().contexts).map(({ url }) => [new URL(url).host, USER])));
    const host = (await readStandardInput()).trim();
    if (action !== "get") return;
    const context = findContextOfHost(host, contextName);
    // Clients recognize exactly this text, and go on without a credential.
    if (context === undefined) return refuse("credentials not found in native keychain");
    const { token } = await tokenOfContext(context)(signal);
    print({ ServerURL: host, Username: USER, Secret: token });
  },
};

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** The protocol reports errors on standard output. */
function refuse(message: string): never {
  process.stdout.write(`${message}\n`);
  throw new Failure("there is no context for this host", { advice: "sign in with: holt login URL" });
}
