/** Reads a filled tree of groups with its role bindings, for peers that answer the same questions about it. */
import { decodeJwt } from "jose";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { createGrants } from "../../packages/server/src/iam/grants/grants.ts";
import { createAccessTokens, MAX_LIFETIME_SECONDS } from "../../packages/server/src/iam/tokens/access-token.ts";
import { createAudienceList } from "../../packages/server/src/iam/tokens/audience.ts";
import { createSigningKeys } from "../../packages/server/src/iam/tokens/signing-keys.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { isInRoot, parentOf } from "../../packages/server/src/lib/uid.ts";
import { type BoundGroup, groupsBelowBindings } from "../parts/authorization.ts";
import type { Served } from "../servers.ts";

/** A fact about the tree: a user is a viewer of a group, or a group is the parent of another. */
export interface Fact {
  readonly object: string;
  readonly relation: "viewer" | "parent";
  readonly subjectType: "user" | "group";
  readonly subject: string;
}

export interface Tree {
  readonly facts: readonly Fact[];
  /** Groups that the identity may view by a binding far above. */
  readonly checks: readonly BoundGroup[];
  /** Tokens of Holt by identity. */
  readonly tokens: ReadonlyMap<string, string>;
}

export async function readTree({ target, contents, server }: Served): Promise<Tree> {
  const log = createLog("error");
  await using store = await openDatabase({ ...target, log });
  const db = store.reader;
  const groups = await db.selectFrom("group").select("uid").execute();
  const bindings = await db
    .selectFrom("role_binding")
    .select(["parent", "identity_uid"])
    .where("identity_uid", "in", contents.operators)
    .execute();
  const keys = await createSigningKeys({ store, clock: systemClock, log });
  const grants = createGrants({ store });
  const tokens = new Map<string, string>();
  for (const uid of contents.operators) tokens.set(uid, await mintToken(uid));
  return {
    facts: [
      ...groups
        .filter(({ uid }) => !isInRoot(uid))
        .map(({ uid }): Fact => ({ object: uid, relation: "parent", subjectType: "group", subject: parentOf(uid) })),
      ...bindings.map(
        ({ parent, identity_uid: subject }): Fact => ({ object: parent ?? "", relation: "viewer", subjectType: "user", subject }),
      ),
    ],
    checks: await groupsBelowBindings(contents, db),
    tokens,
  };

  async function mintToken(uid: string): Promise<string> {
    // As in the owner's token, so that the server accepts it.
    const { iss: issuer = "" } = decodeJwt(server.token);
    const { access, registered } = await grants.load(uid);
    const issued = createAccessTokens({ issuer, keys, clock: systemClock, audiences: createAudienceList([issuer]) });
    const content = {
      uid,
      actor: { iss: issuer, sub: uid, aud: issuer },
      audience: [issuer],
      ...{ email: undefined, emailVerified: false, upstream: {}, scopes: undefined, capabilities: undefined },
      ...{ access, registered, lifetimeSeconds: MAX_LIFETIME_SECONDS },
    };
    return (await issued.mint(content, systemClock.now())).token;
  }
}
