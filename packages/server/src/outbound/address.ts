/**
 * Decides which IP addresses Holt may connect to at the request of callers. Pure: connector.ts resolves names and
 * connects.
 */
import { BlockList, isIP } from "node:net";

/**
 * IPv4 ranges outside the public Internet (IANA special-purpose registry, RFC 6890), and public addresses of cloud host
 * agents.
 */
const DENIED_V4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT (RFC 6598)
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // a cloud's host agent, on a public address
  "169.254.0.0/16", // link-local; cloud metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; cloud metadata
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // AMT
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
];

/**
 * IPv6 is allowed only in global unicast, which excludes loopback, mapped, NAT64, unique-local, link-local and
 * multicast.
 */
const GLOBAL_V6 = "2000::/3";
/** Ranges of global unicast that embed IPv4 addresses or are not routed. */
const DENIED_V6 = [
  "2001::/23", // protocol assignments, with Teredo (2001::/32) and ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3fff::/20", // documentation
];

export interface AddressPolicy {
  /** Whether the address is public or the operator allows it. */
  isAllowed(address: string): boolean;
  /** Whether the operator allows the address explicitly. Only such addresses may be contacted without TLS. */
  isOperatorAllowed(address: string): boolean;
}

/** @param allowCidrs `10.1.0.0/16`, `fd00::/8` or single addresses. @throws Error on anything else */
export function createAddressPolicy(allowCidrs: readonly string[]): AddressPolicy {
  const allowed = listOf(allowCidrs);
  const denied = listOf([...DENIED_V4, ...DENIED_V6]);
  const globalV6 = listOf([GLOBAL_V6]);
  const isPublic = (address: string): boolean => !contains(denied, address) && (isIP(address) === 4 || contains(globalV6, address));
  const isOperatorAllowed = (address: string): boolean => isPlain(address) && contains(allowed, address);
  return { isOperatorAllowed, isAllowed: (address) => isPlain(address) && (isPublic(address) || contains(allowed, address)) };
}

/** An address without a zone: `fe80::1%eth0` names an interface of this machine. */
function isPlain(address: string): boolean {
  return isIP(address) !== 0 && !address.includes("%");
}

/**
 * One list per family: a BlockList treats an IPv4-mapped IPv6 address as IPv4, which would let IPv4 ranges allow that
 * spelling.
 */
interface AddressList {
  readonly v4: BlockList;
  readonly v6: BlockList;
}

function listOf(cidrs: readonly string[]): AddressList {
  const list: AddressList = { v4: new BlockList(), v6: new BlockList() };
  for (const cidr of cidrs) {
    const { address, family, prefix } = parseCidr(cidr);
    if (family === 4) list.v4.addSubnet(address, prefix, "ipv4");
    else list.v6.addSubnet(address, prefix, "ipv6");
  }
  return list;
}

function contains(list: AddressList, address: string): boolean {
  return isIP(address) === 4 ? list.v4.check(address, "ipv4") : list.v6.check(address, "ipv6");
}

function parseCidr(cidr: string): { address: string; family: 4 | 6; prefix: number } {
  const [address = "", length, ...rest] = cidr.split("/");
  const family = isPlain(address) ? isIP(address) : 0;
  const bits = family === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  const isRange = (family === 4 || family === 6) && rest.length === 0 && prefix >= 0 && prefix <= bits;
  if (!isRange) throw new Error(`"${cidr}" is not an address range such as 10.0.0.0/8 or fd00::/8`);
  return { address, family, prefix };
}
