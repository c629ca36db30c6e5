import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "./remote-network.ts";

test("an IPv4 address is its own network, also in the form of IPv6", () => {
  assert.equal(networkOf("192.0.2.7"), "192.0.2.7");
  assert.equal(networkOf("::ffff:192.0.2.7"), "192.0.2.7");
  assert.equal(networkOf(undefined), "");
});

test("IPv6 addresses that share 64 bits are one network, however they are written", () => {
  const network = networkOf("2001:db8:0:1:1:2:3:4");
  assert.equal(network, "2001:db8:0:1::/64");
  for (const address of ["2001:db8:0:1::", "2001:DB8::1:0:0:0:9", "2001:0db8:0000:0001:ffff::1"])
    assert.equal(networkOf(address), network, address);
  assert.notEqual(networkOf("2001:db8:0:2::1"), network);
  assert.equal(networkOf("::1"), "0:0:0:0::/64");
  assert.equal(networkOf("fe80::1%eth0"), "fe80:0:0:0::/64");
});
