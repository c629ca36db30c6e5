import assert from "node:assert/strict";
import { test } from "node:test";
import { createAddressPolicy } from "./address.ts";

const PUBLIC = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.1",
  "140.82.112.3",
  "169.253.255.255",
  "172.15.255.255",
  "172.32.0.0",
  "192.0.1.1",
  "192.0.3.1",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "203.0.112.255",
  "203.0.114.0",
  "223.255.255.255",
  "168.63.129.15",
  "2606:4700:4700::1111",
  "2001:4860:4860::8888",
  "2a00:1450:4001:800::200e",
  "2400:cb00::1",
  "2600::",
  "2001:200::1",
];

const DENIED = [
  "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.255.255.254", "168.63.129.16",
  "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.7", "192.31.196.1", "192.52.193.1", "192.88.99.1",
  "192.168.0.1", "192.168.255.255", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.9", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
  "::", "::1", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:0:1.2.3.4", "::8.8.8.8", "64:ff9b::8.8.8.8", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1",
  "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2001:0db8:0:0:0:0:0:1", "2002:7f00:1::1", "2002:808:808::1", "2620:4f:8000::1", "3fff::1",
  "3fff:fff:ffff::1", "4000::1", "5f00::1", "fc00::1", "fd00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "0:0:0:0:0:0:0:1",
]; // biome-ignore format: a corpus

test("public addresses are allowed", () => {
  const policy = createAddressPolicy([]);
  for (const address of PUBLIC) assert.equal(policy.isAllowed(address), true, address);
});

test("addresses outside of the public Internet are denied in every spelling", () => {
  const policy = createAddressPolicy([]);
  assert.ok(DENIED.length >= 60);
  for (const address of DENIED) assert.equal(policy.isAllowed(address), false, address);
});

test("a malformed address is denied", () => {
  const policy = createAddressPolicy(["0.0.0.0/0", "::/0"]);
  for (const text of ["", "localhost", "127.1", "0x7f000001", "2130706433", "1.2.3.4.5", "[::1]", "1.2.3.4/8", " 8.8.8.8", "fe80::1%eth0"])
    assert.equal(policy.isAllowed(text), false, text);
});

test("the ranges of the operator are allowed and no other private addresses", () => {
  const policy = createAddressPolicy(["127.0.0.0/8", "10.1.0.0/16", "192.168.7.9", "fd00:1::/32", "::1"]);
  for (const address of ["127.0.0.1", "10.1.255.255", "192.168.7.9", "fd00:1::5", "::1", "8.8.8.8"])
    assert.equal(policy.isAllowed(address), true, address);
  for (const address of ["10.2.0.0", "192.168.7.10", "fd00:2::5", "::2", "::ffff:127.0.0.1", "::ffff:10.1.0.1", "169.254.169.254"])
    assert.equal(policy.isAllowed(address), false, address);
  assert.equal(policy.isOperatorAllowed("10.1.0.1"), true);
  assert.equal(policy.isOperatorAllowed("8.8.8.8"), false);
  assert.equal(policy.isOperatorAllowed("::ffff:10.1.0.1"), false);
});

test("an IPv4-mapped address is allowed only by an IPv6 range", () => {
  assert.equal(createAddressPolicy(["0.0.0.0/0"]).isAllowed("::ffff:10.0.0.1"), false);
  assert.equal(createAddressPolicy(["::ffff:10.0.0.0/104"]).isAllowed("::ffff:10.0.0.1"), true);
  assert.equal(createAddressPolicy(["::ffff:10.0.0.0/104"]).isAllowed("10.0.0.1"), false);
});

test("a malformed range is an error at once", () => {
  for (const cidr of ["", "10.0.0.0/33", "10.0.0/8", "::/129", "fd00::/-1", "host/8", "10.0.0.0/8/8", "10.0.0.0/", "fe80::%eth0/64"]) {
    assert.throws(() => createAddressPolicy([cidr]), /is not an address range/, cidr);
  }
});
