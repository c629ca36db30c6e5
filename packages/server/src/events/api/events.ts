/** The feed of events, for readers who would rather ask than be sent them. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type Event,
  EventSchema,
  EventsService,
  type ListEventsRequest,
  ListEventsResponseSchema,
} from "@holt/api/gen/holt/v1/events_pb.ts";
import { implement, read } from "../../api/call/implement.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import type { ReadDb } from "../../db/store.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { parseTime, timestampFromText } from "../../lib/clock.ts";
import { invalidArgument, notFound, outOfRange } from "../../lib/errors.ts";
import { lastPosition } from "../delivery/publish.ts";
import { type EventRow, endOf, firstKept, readFeed, startOf } from "./event-feed.ts";

export function eventsService({ pageTokens, profile }: ServiceDependencies) {
  return implement(EventsService, {
    listEvents: read(async (request, { db, now, operation }) => {
      const { parent, cursor } = request;
      const limit = parsePageRequest({ pageSize: request.pageSize, skip: 0 }).limit;
      const { since, until } = timesOf(request);
      const cursors = createCursors(pageTokens, JSON.stringify([operation.name, parent, request.types.toSorted(), since, until]));
      const opened = cursor === "" ? undefined : cursors.open(cursor);
      await assertGroup(db, parent);
      // What is given out after this is found from here on.
      const last = await lastPosition(db);
      const after = opened ?? (await startOf(db, since, last));
      const types = request.types.flatMap((type) => (type.includes("\0") ? [] : [type, `${profile.eventPrefix}.${type}`]));
      const end = await endOf(db, until, now);
      const page = await readFeed(db, { parent, types: request.types.length === 0 ? undefined : types, since, until, after, end, limit });
      // Afterwards: events may be removed while they are read.
      if (opened !== undefined) await assertKept(db, opened, last);
      const next = page.next ?? Math.max(after, last);
      return create(ListEventsResponseSchema, { events: page.rows.map(eventOf), cursor: cursors.seal(next), hasMore: page.hasMore });
    }),
  });
}

interface Times {
  /** As columns have it; undefined for none. */
  readonly since: string | undefined;
  readonly until: string | undefined;
}

function timesOf({ since, until }: ListEventsRequest): Times {
  const times = {
    since: since === undefined ? undefined : parseTime("since", since),
    until: until === undefined ? undefined : parseTime("until", until),
  };
  if (times.since !== undefined && times.until !== undefined && times.until <= times.since)
    throw invalidArgument("until", "until must be later than since");
  return times;
}

/** Sealed as page tokens are, and bound to what is asked for; but a cursor is anybody's who may ask, and does not expire. */
function createCursors(tokens: PageTokens, binding: string) {
  const never = new Date(0);
  return {
    seal: (position: number) => tokens.seal({ key: String(position), uid: "", skipped: 0 }, binding, never),
    open(cursor: string): number {
      try {
        return Number(tokens.open(cursor, binding, never)?.key);
      } catch {
        throw invalidArgument("cursor", "cursor is not one of this list: use that of an earlier answer, with the same filters");
      }
    },
  };
}

async function assertGroup(db: ReadDb, uid: string): Promise<void> {
  const row = await db.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (row === undefined) throw notFound("Group", uid);
}

/** A reader must not believe that it has missed nothing where it has. A database that was restored may be behind its readers. */
async function assertKept(db: ReadDb, position: number, last: number): Promise<void> {
  const first = (await firstKept(db)) ?? last + 1;
  if (position + 1 >= first && position <= last) return;
  throw outOfRange(
    "the events after this cursor are no longer kept: begin anew without it, with since as the time of the last event you have",
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
