/** Groups remote addresses into networks of one owner, for limits per caller that is not authenticated. Pure. */

/**
 * An IPv4 address, or the /64 of an IPv6 address: a single machine has all addresses of such a network.
 * @param address as the socket has it; undefined once the socket is closed
 */
export function networkOf(address: string | undefined): string {
  const [text = ""] = (address ?? "").split("%", 1);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)?.[1];
  if (mapped !== undefined) return mapped;
  if (!text.includes(":")) return text;
  const [head = "", tail] = text.split("::", 2);
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  const all = [...groups, ...Array<string>(Math.max(missing, 0)).fill("0"), ...(tail ?? "").split(":")];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
