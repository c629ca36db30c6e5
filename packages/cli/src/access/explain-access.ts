/** Asks the server whether an identity has a capability in a group or repository. */
import type { Invocation } from "../command/invocation.ts";
import { nearest } from "../command/nearest.ts";
import { usageFailure } from "../failure.ts";
import { readOperation } from "../generated.ts";
import type { Row } from "../output/output.ts";

/** The arguments `capability` and `place` name what is asked. */
export async function explainAccess(invocation: Invocation, identity: string): Promise<Row> {
  const { argument, session, signal } = invocation;
  const capability = parseCapability(argument("capability"));
  const place = await placeOf(invocation);
  const query = { identity_uid: identity, capability };
  return (await session().rest.call({ method: "GET", path: `/holt/v1/access/${place}:explain`, query, signal })) as Row;
}

/** The uid of the place in the arguments, or of the group of the context. */
export function placeOf({ argument, uid, groupUid }: Invocation): Promise<string> {
  return argument("place") === "" ? groupUid(undefined) : uid("place", argument("place"));
}

/** Names of capabilities with the names of the contract. */
export function capabilities(): Readonly<Record<string, string>> {
  const { flags } = readOperation("iam access explain");
  return flags.find(({ name }) => name === "capability")?.values ?? {};
}

function parseCapability(text: string): string {
  const known = capabilities();
  const found = Object.hasOwn(known, text) ? known[text] : Object.values(known).find((name) => name === text);
  if (found === undefined) throw unknownCapability(text, Object.keys(known));
  return found;
}

function unknownCapability(text: string, known: readonly string[]): Error {
  const meant = nearest(text, known);
  const suggestion = meant === undefined ? "" : `; did you mean ${meant}?`;
  return usageFailure(`there is no capability "${text}"${suggestion}`, "holt roles capabilities lists all");
}
