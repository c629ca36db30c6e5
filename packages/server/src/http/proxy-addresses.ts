/** The addresses of the reverse proxies in front of this server. Pure. */
import { BlockList, isIP } from "node:net";

export type IsProxy = (address: string) => boolean;

/** @param cidrs well-formed */
export function compileProxyAddresses(cidrs: readonly string[]): IsProxy {
  if (cidrs.length === 0) return () => false;
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", bits = ""] = cidr.split("/");
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  // An IPv4-mapped IPv6 address also matches the IPv4 networks.
  return (address) => list.check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
