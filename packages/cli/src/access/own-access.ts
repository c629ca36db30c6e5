/** Whether the caller has a capability. Works for callers who may not read bindings. */
import type { Invocation } from "../command/invocation.ts";
import type { Caller } from "../login/caller.ts";
import type { Row } from "../output/output.ts";
import { explainAccess, placeOf } from "./explain-access.ts";

/** The server explains it only to callers who may list bindings. For others, the rights of the token decide. */
export async function ownAccess(invocation: Invocation, caller: Caller): Promise<Row> {
  try {
    return await explainAccess(invocation, caller.uid);
  } catch (error) {
    if ((error as { code?: string }).code !== "PERMISSION_DENIED") throw error;
  }
  const place = await placeOf(invocation);
  const capability = invocation.argument("capability");
  const isAt = (group: string) => place === group || place.startsWith(`${group}/`);
  const found = caller.capabilities.find(({ groupUid, capabilities }) => isAt(groupUid) && capabilities.includes(capability));
  const summary = found ? `you have ${capability} at ${place}` : `you do not have ${capability} at ${place}`;
  return { allowed: found !== undefined, summary };
}
