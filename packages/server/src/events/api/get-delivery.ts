/** Shows one delivery with the request and the response of its last attempt. */
import { create } from "@bufbuild/protobuf";
import {
  DeliveryRequestSchema,
  type GetDeliveryRequest,
  type GetDeliveryResponse,
  GetDeliveryResponseSchema,
} from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { notFound } from "../../lib/errors.ts";
import { eventData } from "../../outbox/event-context.ts";
import { headersOf } from "../webhook/cloud-event.ts";
import { decodeExchange, REMOVED } from "../webhook/exchange.ts";
import { deliveryFromRow, selectDeliveries } from "./delivery-rows.ts";

const MAX_BODY_BYTES = 64 * 1024;

/** @param userAgent that the server sends */
export async function getDelivery(db: ReadDb, { uid, eventId }: GetDeliveryRequest, userAgent: string): Promise<GetDeliveryResponse> {
  const row = await selectDeliveries(db, uid).select("exchange").where("event_id", "=", eventId).executeTakeFirst();
  if (row === undefined) throw notFound("Delivery", eventId.slice(0, 200));
  const exchange = decodeExchange(row.exchange);
  const url = exchange?.url ?? (await sinkOf(db, uid));
  return create(GetDeliveryResponseSchema, {
    delivery: deliveryFromRow(row),
    request: await requestOf(db, row.position, { url, userAgent }),
    ...(exchange !== undefined && { response: { ...exchange, headers: [...exchange.headers], statusCode: row.status_code } }),
  });
}

async function sinkOf(db: ReadDb, uid: string): Promise<string> {
  return (await db.selectFrom("subscription").select("sink").where("uid", "=", uid).executeTakeFirst())?.sink ?? "";
}

/** Made anew from the event, which never changes. Undefined if the event was pruned a moment ago. */
async function requestOf(db: ReadDb, position: number, { url, userAgent }: { readonly url: string; readonly userAgent: string }) {
  const event = await db
    .selectFrom("outbox")
    .select(["id", "type", "source", "subject", "group_uid", "time", "body_type", "extensions"])
    .select(eventData().as("data"))
    .where("position", "=", position)
    .executeTakeFirst();
  if (event === undefined) return undefined;
  const headers = { ...headersOf(event), Authorization: `Bearer ${REMOVED}`, "User-Agent": userAgent };
  const body = Buffer.from(event.data);
  return create(DeliveryRequestSchema, {
    url,
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    body: body.length <= MAX_BODY_BYTES ? event.data : beginningOf(body),
    sizeBytes: BigInt(body.length),
  });
}

/** Ends before the first character that does not fit. */
function beginningOf(body: Buffer): string {
  return new TextDecoder().decode(body.subarray(0, MAX_BODY_BYTES), { stream: true });
}
