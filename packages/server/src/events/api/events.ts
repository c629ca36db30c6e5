/** The pull feed of events, plain for readers without a webhook, and signed for receivers that the server cannot reach. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type Event,
  EventSchema,
  EventsService,
  type ListEventsRequest,
  ListEventsResponseSchema,
  type ListSignedEventsRequest,
  ListSignedEventsResponseSchema,
} from "@holt/api/gen/holt/v1/events_pb.ts";
import type { Call } from "../../api/call/call.ts";
import { implement, read } from "../../api/call/implement.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import type { ReadDb } from "../../db/store.ts";
import { parseTime, timestampFromText } from "../../lib/clock.ts";
import { invalidArgument, notFound, outOfRange } from "../../lib/errors.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { lastPosition } from "../delivery/publish.ts";
import { wantedTypes } from "../delivery/type-filter.ts";
import type { Webhook } from "../webhook/webhook.ts";
import { type EventRow, endOf, firstKept, readFeed, startOf } from "./event-feed.ts";

export interface EventsCollaborators {
  readonly pageTokens: PageTokens;
  readonly profile: VendorProfile;
  readonly webhook: Pick<Webhook, "sign">;
}

type FeedRequest = ListEventsRequest | ListSignedEventsRequest;

/** Signatures of one answer: each takes about a millisecond of a processor. */
const MAX_SIGNED_EVENTS = 50;

export function eventsService({ pageTokens, profile, webhook }: EventsCollaborators) {
  async function readPage(request: FeedRequest, { db, now, operation }: Call<ReadDb>, maxEvents: number) {
    const { parent, cursor } = request;
    const limit = Math.min(parsePageRequest({ pageSize: request.pageSize, skip: 0 }).limit, maxEvents);
    const { since, until } = timesOf(request);
    const cursors = createCursors(pageTokens, JSON.stringify([operation.name, parent, request.types.toSorted(), since, until]));
    const opened = cursor === "" ? undefined : cursors.open(cursor);
    await assertGroup(db, parent);
    // Read first: events that get a position later are found from this position on.
    const last = await lastPosition(db);
    const after = opened ?? (await startOf(db, since, last));
    const types = wantedTypes(request.types, profile.eventPrefix);
    const end = await endOf(db, until, now);
    const page = await readFeed(db, { parent, types, since, until, after, end, limit });
    // Checked last: events may be removed while this call reads them.
    if (opened !== undefined) await assertKept(db, opened, last);
    return { rows: page.rows, hasMore: page.hasMore, cursor: cursors.seal(page.next ?? Math.max(after, last)) };
  }

  return implement(EventsService, {
    listEvents: read(async (request, call) => {
      const { rows, ...page } = await readPage(request, call, Number.POSITIVE_INFINITY);
      return create(ListEventsResponseSchema, { ...page, events: rows.map(eventOf) });
    }),
    listSignedEvents: read(async (request, call) => {
      const { rows, ...page } = await readPage(request, call, MAX_SIGNED_EVENTS);
      const target = { sink: "", parent: request.parent };
      const events = await Promise.all(rows.map((row) => webhook.sign(row, target)));
      return create(ListSignedEventsResponseSchema, { ...page, events: events.map(({ headers, body }) => ({ headers, body })) });
    }),
  });
}

interface Times {
  /** In the form of columns; undefined for no bound. */
  readonly since: string | undefined;
  readonly until: string | undefined;
}

function timesOf({ since, until }: FeedRequest): Times {
  const times = {
    since: since === undefined ? undefined : parseTime("since", since),
    until: until === undefined ? undefined : parseTime("until", until),
  };
  if (times.since !== undefined && times.until !== undefined && times.until <= times.since)
    throw invalidArgument("until", "until must be later than since");
  return times;
}

/** Cursors are sealed like page tokens and bound to the filters. Unlike page tokens they work for every caller and do not expire. */
function createCursors(tokens: PageTokens, binding: string) {
  const never = new Date(0);
  return {
    seal: (position: number) => tokens.seal({ key: String(position), uid: "", skipped: 0 }, binding, never),
    open(cursor: string): number {
      try {
        return Number(tokens.open(cursor, binding, never)?.key);
      } catch {
        throw invalidArgument("cursor", "cursor is not valid for this list: use the cursor of an earlier answer, with the same filters");
      }
    },
  };
}

async function assertGroup(db: ReadDb, uid: string): Promise<void> {
  const row = await db.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (row === undefined) throw notFound("Group", uid);
}

/** Throws if the reader has missed events. A restored database may be behind its readers. */
async function assertKept(db: ReadDb, position: number, last: number): Promise<void> {
  const first = (await firstKept(db)) ?? last + 1;
  if (position + 1 >= first && position <= last) return;
  throw outOfRange(
    "the events after this cursor are no longer kept: start again without a cursor, with since as the time of the last event you have",
  );
}

function eventOf(row: EventRow): Event {
  return create(EventSchema, {
    id: row.id,
    type: row.type,
    source: row.source,
    subject: row.subject,
    group: row.group_uid,
    time: timestampFromText(row.time),
    bodyType: row.body_type,
    extensions: JSON.parse(row.extensions) as Record<string, string>,
    data: JSON.parse(row.data) as JsonObject,
  });
}
