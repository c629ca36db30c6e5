/** Derives the capabilities of an identity from its bindings, its home and its token. Pure; iam/grants/ loads and caches bindings. */
import { ancestry, isAtOrBelow, isInRoot, parentOf, rootOf } from "../lib/uid.ts";

/** Capabilities held directly at a group (bit sets); each holds at the group and everywhere below it. */
export type CapabilitiesByGroup = ReadonlyMap<string, bigint>;

export interface Binding {
  readonly groupUid: string;
  readonly capabilities: bigint;
}

/**
 * The grants of an identity. An identity that was created in a group, its home, acts only there and below: a binding takes effect at the
 * intersection of its group and the home. Identities in root have no home.
 */
export function effectiveCapabilities(identityUid: string, bindings: Iterable<Binding>): CapabilitiesByGroup {
  const home = isInRoot(identityUid) ? undefined : parentOf(identityUid);
  const grants = new Map<string, bigint>();
  for (const { groupUid, capabilities } of bindings) {
    const at = effectiveScope(groupUid, home);
    if (at !== undefined) grants.set(at, (grants.get(at) ?? 0n) | capabilities);
  }
  return grants;
}

/** The group where a binding at `groupUid` takes effect for an identity with this home; undefined if there is none. */
export function effectiveScope(groupUid: string, home: string | undefined): string | undefined {
  if (home === undefined || isAtOrBelow(groupUid, home)) return groupUid;
  return isAtOrBelow(home, groupUid) ? home : undefined;
}

/** Uids of the organizations that a person has joined, and of those that the person has left. */
export interface Memberships {
  readonly joined: ReadonlySet<string>;
  readonly left: ReadonlySet<string>;
}

/** The rights of a caller during one call: its grants, narrowed by its token. */
export class Access {
  readonly #grants: CapabilitiesByGroup;
  readonly #memberships: Memberships | undefined;
  readonly #scopes = new Map<bigint, readonly string[]>();

  /** @param memberships undefined for a workload, which belongs to all organizations where it acts */
  constructor(grants: CapabilitiesByGroup, memberships?: Memberships) {
    this.#grants = grants;
    this.#memberships = memberships;
  }

  /**
   * False for a person outside the organizations that the person has joined, even with bindings there: anyone can bind a
   * person. True without an organization.
   */
  hasJoined(uid: string): boolean {
    return this.#memberships === undefined || uid === "" || this.#memberships.joined.has(rootOf(uid));
  }

  /** These rights of a person who has just joined the organization of the uid. */
  afterJoining(uid: string): Access {
    if (this.#memberships === undefined) return this;
    const { joined, left } = this.#memberships;
    const organization = rootOf(uid);
    return new Access(this.#grants, {
      joined: new Set([...joined, organization]),
      left: new Set([...left].filter((other) => other !== organization)),
    });
  }

  /** All capabilities held at `uid`, by bindings there or at any ancestor. */
  capabilitiesAt(uid: string): bigint {
    let held = 0n;
    if (this.#grants.size === 0) return held;
    for (const at of ancestry(uid)) held |= this.#grants.get(at) ?? 0n;
    return held;
  }

  /** Whether all of `wanted` is held at `uid`. */
  holds(wanted: bigint, uid: string): boolean {
    return (this.capabilitiesAt(uid) & wanted) === wanted;
  }

  /**
   * The topmost groups where all of `wanted` is held, in uid order. None is below another; the caller sees these groups and all below
   * them.
   */
  scopes(wanted: bigint): readonly string[] {
    const known = this.#scopes.get(wanted);
    if (known !== undefined) return known;
    const topmost: string[] = [];
    for (const uid of [...this.#grants.keys()].sort()) {
      const last = topmost.at(-1);
      if (last !== undefined && isAtOrBelow(uid, last)) continue;
      if (this.holds(wanted, uid)) topmost.push(uid);
    }
    this.#scopes.set(wanted, topmost);
    return topmost;
  }

  /** Groups with a grant of their own and the capabilities held there, in the order of the grants; the `cap` claim of a token. */
  *entries(): Iterable<[uid: string, capabilities: bigint]> {
    for (const uid of this.#grants.keys()) yield [uid, this.capabilitiesAt(uid)];
  }

  /** These rights with further bindings. */
  and(more: Iterable<Binding>): Access {
    const grants = new Map(this.#grants);
    for (const { groupUid, capabilities } of more) grants.set(groupUid, (grants.get(groupUid) ?? 0n) | capabilities);
    return new Access(grants, this.#memberships);
  }

  /**
   * These rights, narrowed by a token: `within` keeps only rights in that group; `scopes` keeps only these groups and all below, with the
   * capabilities held there; `capabilities` keeps no others.
   */
  narrowed(scopes: readonly string[] | undefined, capabilities: bigint | undefined, within?: string): Access {
    if (within !== undefined) return this.#within(within).narrowed(scopes, capabilities);
    if (scopes === undefined && capabilities === undefined) return this;
    const mask = capabilities ?? ~0n;
    const kept = new Map<string, bigint>();
    for (const uid of scopes ?? this.#grants.keys()) {
      const held = this.capabilitiesAt(uid) & mask;
      if (held !== 0n) kept.set(uid, held);
    }
    return new Access(kept, this.#memberships);
  }

  #within(groupUid: string): Access {
    const kept = new Map<string, bigint>();
    for (const [uid, capabilities] of this.#grants) {
      const at = effectiveScope(uid, groupUid);
      if (at !== undefined) kept.set(at, (kept.get(at) ?? 0n) | capabilities);
    }
    return new Access(kept, this.#membershipsWithin(rootOf(groupUid)));
  }

  /** The sign-in was for this organization: unless the person has left it, the person counts as joined there, and nowhere else. */
  #membershipsWithin(organization: string): Memberships | undefined {
    if (this.#memberships === undefined || this.#memberships.left.has(organization)) return this.#memberships;
    return { joined: new Set([organization]), left: this.#memberships.left };
  }
}

export const NO_ACCESS = new Access(new Map());
