/** Lists what needs the attention of administrators. The domains say what that is. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type AttentionItemSchema, AttentionService, ListAttentionResponseSchema } from "@holt/api/gen/holt/v1/attention_pb.ts";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../access/capability-set.ts";
import type { ReadDb } from "../db/store.ts";
import { rangeBelow, type UidRange } from "../lib/uid.ts";
import { implement, read } from "./call/implement.ts";

/** One kind of things that may need attention. */
export interface AttentionSource {
  /** Capabilities that the caller needs to list such things. */
  readonly capability: Capability;
  /** The most urgent first. */
  find(query: AttentionQuery, db: ReadDb): Promise<readonly MessageInitShape<typeof AttentionItemSchema>[]>;
}

export interface AttentionQuery {
  /** uids below the group. */
  readonly range: UidRange;
  readonly now: Date;
  readonly limit: number;
}

/** Items of one kind. */
const MAX_ITEMS = 20;

export function attentionService(sources: readonly AttentionSource[]) {
  return implement(AttentionService, {
    listAttention: read(async ({ uid }, { access, db, now }) => {
      const query = { range: rangeBelow(uid), now, limit: MAX_ITEMS };
      const items = [];
      for (const { capability, find } of sources)
        if (access.holds(capabilitySet([capability]), uid)) items.push(...(await find(query, db)));
      return create(ListAttentionResponseSchema, { items });
    }),
  });
}
