import assert from "node:assert/strict";
import { test } from "node:test";
import { isInRoot, newUid, parentOf } from "../lib/uid.ts";
import { Access, type Binding, effectiveCapabilities } from "./capabilities.ts";

/** Small seeded generator (mulberry32), so that a failure can be repeated. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

interface World {
  readonly uids: readonly string[];
  readonly identity: string;
  readonly bindings: readonly Binding[];
  readonly scopes: readonly string[] | undefined;
  readonly mask: bigint | undefined;
}

function randomWorld(random: (below: number) => number): World {
  const uids = [newUid(""), newUid("")];
  while (uids.length < 14) uids.push(newUid(uids[random(uids.length)] ?? ""));
  const pick = (): string => uids[random(uids.length)] ?? "";
  const bits = (): bigint => BigInt(random(64));
  const bindings = Array.from({ length: random(14) }, () => ({ groupUid: pick(), capabilities: bits() }));
  const scopes = random(3) === 0 ? Array.from({ length: random(3) }, pick) : undefined;
  return { uids, identity: newUid(random(3) === 0 ? "" : pick()), bindings, scopes, mask: random(3) === 0 ? bits() : undefined };
}

/** Compares segments, unlike the code, so that both cannot share a mistake. */
function isSameOrBelow(uid: string, ancestor: string): boolean {
  const [path, prefix] = [uid.split("/"), ancestor.split("/")];
  return prefix.every((segment, index) => path[index] === segment);
}

/** The rules for one bit at one uid. A token with a scope gives at the scope and below the capabilities held at the scope. */
function modelHolds({ identity, bindings, scopes, mask }: World, uid: string, bit: bigint): boolean {
  if (mask !== undefined && (mask & bit) === 0n) return false;
  const home = isInRoot(identity) ? undefined : parentOf(identity);
  const isHeldAt = (at: string): boolean =>
    bindings.some(
      ({ groupUid, capabilities }) =>
        (capabilities & bit) !== 0n && isSameOrBelow(at, groupUid) && (home === undefined || isSameOrBelow(at, home)),
    );
  return scopes === undefined ? isHeldAt(uid) : scopes.some((scope) => isSameOrBelow(uid, scope) && isHeldAt(scope));
}

function accessOf({ identity, bindings, scopes, mask }: World): Access {
  return new Access(effectiveCapabilities(identity, bindings)).narrowed(scopes, mask);
}

test("capabilities follow the rules on random trees, bindings, homes and tokens", () => {
  const random = randomFrom(1);
  let checks = 0;
  for (let round = 0; round < 1600; round++) {
    const world = randomWorld(random);
    const access = accessOf(world);
    for (const uid of [...world.uids, newUid(world.uids[3] ?? ""), newUid("")]) {
      for (let bit = 1n; bit < 64n; bit <<= 1n) {
        assert.equal(
          access.holds(bit, uid),
          modelHolds(world, uid, bit),
          JSON.stringify({ ...world, mask: String(world.mask), bindings: String(world.bindings), uid }),
        );
        checks++;
      }
    }
  }
  assert.ok(checks >= 100_000, `${checks}`);
});

test("the scopes of a list are the topmost groups where all capabilities are held, and cover exactly the groups where they are held", () => {
  const random = randomFrom(2);
  for (let round = 0; round < 2000; round++) {
    const world = randomWorld(random);
    const access = accessOf(world);
    const wanted = BigInt(random(63) + 1);
    const scopes = access.scopes(wanted);
    for (const a of scopes) for (const b of scopes) assert.ok(a === b || !isSameOrBelow(a, b));
    assert.deepEqual([...scopes], [...scopes].sort());
    for (const uid of world.uids)
      assert.equal(
        scopes.some((scope) => isSameOrBelow(uid, scope)),
        access.holds(wanted, uid),
      );
  }
});

test("an identity of a group acts only there and below, wherever it is bound", () => {
  const organization = newUid("");
  const [home, sibling] = [newUid(organization), newUid(organization)];
  const below = newUid(home);
  const at = (groupUid: string): Access => new Access(effectiveCapabilities(newUid(home), [{ groupUid, capabilities: 1n }]));
  assert.deepEqual(
    [organization, home, below, sibling].map((uid) => at(organization).holds(1n, uid)),
    [false, true, true, false],
  );
  assert.deepEqual(
    [organization, home, below, sibling].map((uid) => at(below).holds(1n, uid)),
    [false, false, true, false],
  );
  assert.deepEqual(
    [organization, home, below, sibling].map((uid) => at(sibling).holds(1n, uid)),
    [false, false, false, false],
  );
  const user = new Access(effectiveCapabilities(newUid(""), [{ groupUid: organization, capabilities: 1n }]));
  assert.deepEqual(
    [organization, home, below, sibling].map((uid) => user.holds(1n, uid)),
    [true, true, true, true],
  );
});

test("a token narrowed to no scopes has no capabilities", () => {
  const organization = newUid("");
  const access = new Access(effectiveCapabilities(newUid(""), [{ groupUid: organization, capabilities: 1n }]));
  assert.equal(access.narrowed([], undefined).holds(1n, organization), false);
  assert.equal(access.narrowed(undefined, 0n).holds(1n, organization), false);
});

test("a person has joined only the organizations of its memberships, and a workload all", () => {
  const [joined, left, other] = [newUid(""), newUid(""), newUid("")];
  const person = new Access(new Map([[other, 1n]]), { joined: new Set([joined]), left: new Set([left]) });
  const joinedOf = (access: Access) => [joined, left, other].map((uid) => access.hasJoined(newUid(uid)));
  assert.deepEqual(joinedOf(person), [true, false, false]);
  assert.deepEqual(joinedOf(person.narrowed(undefined, undefined, other)), [false, false, true]);
  assert.deepEqual(joinedOf(person.narrowed(undefined, undefined, left)), [true, false, false]);
  assert.deepEqual(joinedOf(person.afterJoining(left)), [true, true, false]);
  assert.deepEqual(joinedOf(new Access(new Map())), [true, true, true]);
});
