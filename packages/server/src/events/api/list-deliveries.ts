/** Lists the deliveries of a subscription, newest first, at a cost that does not grow with their number. */
import { create } from "@bufbuild/protobuf";
import {
  type Delivery,
  Delivery_State,
  type ListDeliveriesRequest,
  type ListDeliveriesResponse,
  ListDeliveriesResponseSchema,
} from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import type { Call } from "../../api/call/call.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import type { ReadDb } from "../../db/store.ts";
import { invalidArgument } from "../../lib/errors.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { hasWantedType, type WantedTypes, wantedTypes } from "../delivery/type-filter.ts";
import type { DeliveryTable } from "../tables.ts";
import { deliveryFromRow, selectDeliveries } from "./delivery-rows.ts";

type State = DeliveryTable["state"];

const states = new Map<Delivery_State, State | undefined>([
  [Delivery_State.UNSPECIFIED, undefined],
  [Delivery_State.PENDING, "pending"],
  [Delivery_State.DELIVERED, "delivered"],
  [Delivery_State.FAILED, "failed"],
]);

/** With more pending deliveries than this, scanning all deliveries soon finds enough of them. */
const FEW = 10_000;
/** Deliveries that are scanned for one page if no index has those of the state in order. */
const MAX_WALK = 20_000;
/** The same where each delivery's event is looked up for its type. */
const MAX_TYPED_WALK = 2000;

interface Window {
  readonly uid: string;
  readonly state: State | undefined;
  /** Undefined for every type. */
  readonly types: WantedTypes | undefined;
  /** Positions below this one. */
  readonly before: number;
  readonly limit: number;
}

/** Positions of a page, and the position where the next page begins; undefined after the last page. */
interface Found {
  readonly positions: readonly number[];
  readonly next: number | undefined;
}

export interface ListDeliveriesCollaborators {
  readonly pageTokens: PageTokens;
  readonly profile: VendorProfile;
}

export async function listDeliveries(
  request: ListDeliveriesRequest,
  call: Call,
  { pageTokens: tokens, profile }: ListDeliveriesCollaborators,
): Promise<ListDeliveriesResponse> {
  const { uid, pageToken } = request;
  const limit = parsePageRequest({ pageSize: request.pageSize, skip: 0 }).limit;
  if (!states.has(request.state)) throw invalidArgument("state", "state must be one of the states of a Delivery");
  const binding = bindingOf(call, uid, request.state, ...request.types.toSorted());
  const after = pageToken === "" ? undefined : tokens.open(pageToken, binding, call.now);
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : Number(after.key);
  const types = wantedTypes(request.types, profile.eventPrefix);
  const { positions, next } = await find(call.db, { uid, state: states.get(request.state), types, before, limit });
  return create(ListDeliveriesResponseSchema, {
    deliveries: await readDeliveries(call.db, uid, positions),
    nextPageToken: next === undefined ? "" : tokens.seal({ key: String(next), uid: "", skipped: 0 }, binding, call.now),
  });
}

async function find(db: ReadDb, window: Window): Promise<Found> {
  const { state, types } = window;
  if (types !== undefined) return walk(db, window);
  if (state === undefined || state === "failed") return page(await positionsOf(db, window, window.limit + 1), window);
  const few = state === "pending" ? await fewPending(db, window) : undefined;
  return few === undefined ? walk(db, window) : page(few, window);
}

/** One row more than the page shows that there is a next page. */
function page(found: readonly number[], { limit }: Window): Found {
  const positions = found.slice(0, limit);
  return { positions, next: found.length > limit ? positions.at(-1) : undefined };
}

/** Seeks by the primary key, or by the index of failed deliveries. */
async function positionsOf(db: ReadDb, { uid, state, before }: Window, limit: number): Promise<number[]> {
  const all = db.selectFrom("delivery").select("position").where("subscription_uid", "=", uid).where("position", "<", before);
  const some = state === undefined ? all : all.where("state", "=", state);
  return (await some.orderBy("position", "desc").limit(limit).execute()).map((row) => row.position);
}

/** The sorted positions of the page, and one more; undefined if there are too many to sort. */
async function fewPending(db: ReadDb, { uid, before, limit }: Window): Promise<number[] | undefined> {
  // In the order of the index of pending deliveries, so that the database uses that index.
  const rows = await db
    .selectFrom("delivery")
    .select("position")
    .where("subscription_uid", "=", uid)
    .where("state", "=", "pending")
    .orderBy("next_attempt_time")
    .limit(FEW + 1)
    .execute();
  if (rows.length > FEW) return undefined;
  const positions = rows.map((row) => row.position).filter((position) => position < before);
  return positions.toSorted((a, b) => b - a).slice(0, limit + 1);
}

/** Scans deliveries of all states and types up to a limit; the next page continues from there. */
async function walk(db: ReadDb, window: Window): Promise<Found> {
  const { uid, before, limit, state, types } = window;
  const passed = db
    .selectFrom("delivery")
    .select(["position", "state"])
    .where("subscription_uid", "=", uid)
    .where("position", "<", before)
    .orderBy("position", "desc")
    .limit(types === undefined ? MAX_WALK : MAX_TYPED_WALK);
  const rows = await db
    .selectFrom(passed.as("passed"))
    .select("position")
    .$if(state !== undefined, (query) => query.where("state", "=", state as State))
    .$if(types !== undefined, (query) =>
      query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom("outbox")
            .select("outbox.seq")
            .whereRef("outbox.position", "=", "passed.position")
            .where(hasWantedType(db, types as WantedTypes)),
        ),
      ),
    )
    .orderBy("position", "desc")
    .limit(limit + 1)
    .execute();
  const found = page(
    rows.map((row) => row.position),
    window,
  );
  if (found.next !== undefined) return found;
  const { positions } = found;
  const [end] = await db.selectFrom(passed.as("passed")).select("position").orderBy("position").limit(1).offset(0).execute();
  const rest = { ...window, state: undefined, types: undefined };
  const isAll = end === undefined || (await positionsOf(db, { ...rest, before: end.position }, 1)).length === 0;
  return { positions, next: isAll ? undefined : end.position };
}

async function readDeliveries(db: ReadDb, uid: string, positions: readonly number[]): Promise<Delivery[]> {
  if (positions.length === 0) return [];
  const chosen = db.dialect.rowsOf(
    positions.map((position) => ({ position })),
    { position: "bigint" },
  );
  const rows = await selectDeliveries(db, uid)
    .where("delivery.position", "in", db.selectFrom(chosen.as("r")).select("r.position"))
    .orderBy("delivery.position", "desc")
    .execute();
  return rows.map(deliveryFromRow);
}
