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

const NONE: ReadonlyMap<string, string> = new Map();

/** Comparing a uid with this many others costs less than cutting it into its ancestors and looking for each. */
const FEW_GRANTS = 8;

/** The rights of a caller during one call: its grants, narrowed by its token. */
export class Access {
  readonly #grants: CapabilitiesByGroup;
  readonly #memberships: Memberships | undefined;
  readonly #public: Access | undefined;
  /** The groups with grants, and all groups above them. Computed on first use. */
  #reached: ReadonlySet<string> | undefined;
  readonly #withheld: ReadonlyMap<string, string>;
  #organizations: readonly string[] | undefined;
  readonly #scopes = new Map<bigint, readonly string[]>();

  /**
   * @param memberships undefined for a workload, which belongs to all organizations where it acts
   * @param publicAccess rights that everybody has in addition
   * @param withheld by the uid of the organization: why the caller has none of its rights there
   */
  constructor(grants: CapabilitiesByGroup, memberships?: Memberships, publicAccess?: Access, withheld: ReadonlyMap<string, string> = NONE) {
    this.#grants = grants;
    this.#memberships = memberships;
    this.#public = publicAccess;
    this.#withheld = withheld;
  }

  /**
   * These rights with those that everybody has. Only organizations with rights of the caller's own count as joined, so
   * that their names come before those of other public organizations.
   */
  withPublic(publicAccess: Access): Access {
    const joined = () => new Set([...this.#grants.keys()].map(rootOf));
    return new Access(this.#grants, this.#memberships ?? { joined: joined(), left: new Set() }, publicAccess, this.#withheld);
  }

  /** Why the caller has none of its rights in the organization of the uid; undefined if it has them. */
  withheldAt(uid: string): string | undefined {
    return this.#withheld.get(rootOf(uid));
  }

  /** These rights without those in the organizations, by uid with the reason. */
  withholding(organizations: ReadonlyMap<string, string>): Access {
    if (organizations.size === 0) return this;
    const kept = [...this.#grants].filter(([uid]) => !organizations.has(rootOf(uid)));
    return new Access(new Map(kept), this.#memberships, this.#public, organizations);
  }

  /** The organizations where these rights are. */
  organizations(): readonly string[] {
    this.#organizations ??= [...new Set([...this.#grants.keys()].map(rootOf))];
    return this.#organizations;
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
    return new Access(
      this.#grants,
      {
        joined: new Set([...joined, organization]),
        left: new Set([...left].filter((other) => other !== organization)),
      },
      this.#public,
      this.#withheld,
    );
  }

  /** All capabilities held at `uid`, by bindings there or at any ancestor. */
  capabilitiesAt(uid: string): bigint {
    let held = this.#public?.capabilitiesAt(uid) ?? 0n;
    if (this.#grants.size > FEW_GRANTS) for (const at of ancestry(uid)) held |= this.#grants.get(at) ?? 0n;
    else for (const [at, capabilities] of this.#grants) if (isAtOrBelow(uid, at)) held |= capabilities;
    return held;
  }

  /** Whether the caller holds a capability at the uid or above it, or has a grant below it. */
  reaches(uid: string): boolean {
    this.#reached ??= new Set([...this.#grants.keys()].flatMap(ancestry));
    return this.#reached.has(uid) || this.capabilitiesAt(uid) !== 0n || (this.#public?.reaches(uid) ?? false);
  }

  /** Whether there is any grant. */
  hasAny(): boolean {
    return this.#grants.size > 0 || (this.#public?.hasAny() ?? false);
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
    for (const uid of [...this.#places()].sort()) {
      const last = topmost.at(-1);
      if (last !== undefined && isAtOrBelow(uid, last)) continue;
      if (this.holds(wanted, uid)) topmost.push(uid);
    }
    this.#scopes.set(wanted, topmost);
    return topmost;
  }

  /** Groups with a grant of their own and the capabilities held there, in the order of the grants; the `cap` claim of a token. */
  *entries(): Iterable<[uid: string, capabilities: bigint]> {
    for (const uid of this.#places()) yield [uid, this.capabilitiesAt(uid)];
  }

  #places(): Iterable<string> {
    return this.#public === undefined ? this.#grants.keys() : new Set([...this.#grants.keys(), ...this.#public.#places()]);
  }

  /** These rights with further bindings. */
  and(more: Iterable<Binding>): Access {
    const grants = new Map(this.#grants);
    for (const { groupUid, capabilities } of more) grants.set(groupUid, (grants.get(groupUid) ?? 0n) | capabilities);
    return new Access(grants, this.#memberships, this.#public, this.#withheld);
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
    return new Access(kept, this.#memberships, this.#public, this.#withheld);
  }

  #within(groupUid: string): Access {
    const kept = new Map<string, bigint>();
    for (const [uid, capabilities] of this.#grants) {
      const at = effectiveScope(uid, groupUid);
      if (at !== undefined) kept.set(at, (kept.get(at) ?? 0n) | capabilities);
    }
    return new Access(kept, this.#membershipsWithin(rootOf(groupUid)), this.#public, this.#withheld);
  }

  /** The sign-in was for this organization: unless the person has left it, the person counts as joined there, and nowhere else. */
  #membershipsWithin(organization: string): Memberships | undefined {
    if (this.#memberships === undefined || this.#memberships.left.has(organization)) return this.#memberships;
    return { joined: new Set([organization]), left: this.#memberships.left };
  }
}

export const NO_ACCESS = new Access(new Map());
