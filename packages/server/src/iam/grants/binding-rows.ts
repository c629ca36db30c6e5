/** Turns rows of bindings and their roles into bindings. Pure. */
import type { Binding } from "../../access/capabilities.ts";

/** @param rows null where an outer join found no binding or role; capabilities are a bit set in hexadecimal */
export function bindingsFromRows(rows: readonly { group: string | null; capabilities: string | null }[]): Binding[] {
  const bindings: Binding[] = [];
  for (const { group, capabilities } of rows) {
    if (group !== null && capabilities !== null) bindings.push({ groupUid: group, capabilities: BigInt(`0x${capabilities}`) });
  }
  return bindings;
}
