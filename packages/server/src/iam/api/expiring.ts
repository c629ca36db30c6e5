/** Finds keys of identities, pull tokens and invites that expire soon. */
import { AttentionItem_Kind } from "@holt/api/gen/holt/v1/attention_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RelationshipType } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { AttentionSource } from "../../api/attention.ts";
import { timestampFromText } from "../../lib/clock.ts";

const DAY_MS = 86_400_000;
const SOON_MS = 14 * DAY_MS;
/** Invites live for days. */
const SOON_FOR_INVITES_MS = 3 * DAY_MS;

const expiringPullTokens: AttentionSource = {
  capability: Capability.CAP_IAM_IDENTITY_LIST,
  async find({ range, now, limit }, db) {
    const rows = await db
      .selectFrom("pull_token")
      .select(["uid", "name", "expire_time"])
      .where("uid", ">=", range.lower)
      .where("uid", "<", range.upper)
      .where("expire_time", ">", now.toISOString())
      .where("expire_time", "<", new Date(now.getTime() + SOON_MS).toISOString())
      .orderBy("expire_time")
      .orderBy("uid")
      .limit(limit)
      .execute();
    return rows.map(({ uid, name, expire_time }) => ({
      kind: AttentionItem_Kind.PULL_TOKEN,
      uid,
      name,
      time: timestampFromText(expire_time),
    }));
  },
};

const expiringInvites: AttentionSource = {
  capability: Capability.CAP_IAM_GROUP_INVITES_LIST,
  async find({ range, now, limit }, db) {
    const rows = await db
      .selectFrom("group_invite")
      .select(["uid", "expiration_time"])
      .where("uid", ">=", range.lower)
      .where("uid", "<", range.upper)
      .where("expiration_time", ">", now.toISOString())
      .where("expiration_time", "<", new Date(now.getTime() + SOON_FOR_INVITES_MS).toISOString())
      .orderBy("expiration_time")
      .orderBy("uid")
      .limit(limit)
      .execute();
    return rows.map(({ uid, expiration_time }) => ({ kind: AttentionItem_Kind.INVITE, uid, time: timestampFromText(expiration_time) }));
  },
};

/** The time of expiry is in the body only. */
const MAX_IDENTITIES_READ = 1000;

const expiringKeys: AttentionSource = {
  capability: Capability.CAP_IAM_IDENTITY_LIST,
  async find({ range, now, limit }, db) {
    const rows = await db
      .selectFrom("identity")
      .select(["uid", "name", "body"])
      .where("uid", ">=", range.lower)
      .where("uid", "<", range.upper)
      .where("relationship_type", "=", RelationshipType.STATIC)
      .orderBy("uid")
      .limit(MAX_IDENTITIES_READ)
      .execute();
    const end = now.getTime() + SOON_MS;
    return rows
      .flatMap(({ uid, name, body }) => {
        const { staticKeys } = JSON.parse(body) as { readonly staticKeys?: { readonly expirationTime?: string } };
        const time = staticKeys?.expirationTime;
        const isSoon = time !== undefined && Date.parse(time) > now.getTime() && Date.parse(time) < end;
        return isSoon ? [{ kind: AttentionItem_Kind.KEY, uid, name, time: timestampFromText(time) }] : [];
      })
      .sort((a, b) => Number(a.time.seconds - b.time.seconds))
      .slice(0, limit);
  },
};

export const expiring: readonly AttentionSource[] = [expiringKeys, expiringPullTokens, expiringInvites];
