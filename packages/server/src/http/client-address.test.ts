import assert from "node:assert/strict";
import { test } from "node:test";
import { clientAddress } from "./client-address.ts";
import { compileProxyAddresses } from "./proxy-addresses.ts";

const isProxy = compileProxyAddresses(["10.0.0.0/8", "fd00::/8"]);
const read = (forwarded: string, peer = "10.0.0.1") => clientAddress(peer, { "x-forwarded-for": forwarded }, isProxy);

test("the client is the right-most forwarded address that is not a trusted proxy", () => {
  const cases = {
    "192.0.2.1": "192.0.2.1",
    "198.51.100.7, 192.0.2.1": "192.0.2.1",
    "198.51.100.7, 192.0.2.1, 10.1.1.1,fd00::2": "192.0.2.1",
    "nonsense, 192.0.2.1": "192.0.2.1",
    "192.0.2.1:4711": "192.0.2.1",
    "[2001:db8::1]:4711, 10.0.0.2": "2001:db8::1",
    '"[2001:db8::1]"': "2001:db8::1",
    "2001:db8::1": "2001:db8::1",
    "10.0.0.3, 10.0.0.2": "10.0.0.3",
  };
  for (const [forwarded, client] of Object.entries(cases)) assert.equal(read(forwarded), client, forwarded);
});

test("a missing or malformed header leaves the address of the connection", () => {
  assert.equal(clientAddress("10.0.0.1", {}, isProxy), "10.0.0.1");
  for (const forwarded of ["", "unknown", "192.0.2.1, _hidden", "192.0.2.999", "192.0.2.1,", "fe80::1%eth0", "a".repeat(30_000)])
    assert.equal(read(forwarded), "10.0.0.1", forwarded.slice(0, 40));
});

test("a client without a trusted proxy cannot name another address", () => {
  assert.equal(read("192.0.2.1", "198.51.100.7"), "198.51.100.7");
  assert.equal(clientAddress("10.0.0.1", { "x-forwarded-for": "192.0.2.1" }, compileProxyAddresses([])), "10.0.0.1");
});

test("a list of proxies is read up to a limit", () => {
  assert.equal(read(`192.0.2.1${", 10.0.0.2".repeat(31)}`), "192.0.2.1");
  assert.equal(read(`192.0.2.1${", 10.0.0.2".repeat(5_000)}`), "10.0.0.2");
});
