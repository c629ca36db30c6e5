import assert from "node:assert/strict";
import { test } from "node:test";
import { compileProxyAddresses } from "./proxy-addresses.ts";
import { networkOf } from "./remote-network.ts";

test("an IPv4 address counts by itself, also in its IPv6 form, and an IPv6 address by its /64 network", () => {
  const cases = {
    "192.0.2.1": "192.0.2.1",
    "::ffff:192.0.2.1": "192.0.2.1",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
    "2001:db8:1:2::9": "2001:db8:1:2::/64",
    "2001:db8::1": "2001:db8:0:0::/64",
    "fe80::1%eth0": "fe80:0:0:0::/64",
    "::1": "0:0:0:0::/64",
  };
  for (const [address, network] of Object.entries(cases)) assert.equal(networkOf(address), network);
});

test("proxies are known by address and by network, also where IPv4 comes in its IPv6 form", () => {
  const isProxy = compileProxyAddresses(["10.0.0.0/8", "192.0.2.7/32", "fd00::/8"]);
  for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "192.0.2.7", "fd12::1"]) assert.equal(isProxy(address), true, address);
  for (const address of ["11.0.0.1", "192.0.2.8", "2001:db8::1", "::1"]) assert.equal(isProxy(address), false, address);
  assert.equal(compileProxyAddresses([])("10.0.0.1"), false);
});
