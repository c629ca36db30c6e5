/** Follows the feed of events of a group, also after the server could not be reached for a while. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { type Event, EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { useEffect, useState } from "react";
import { isPassing } from "../session/transport.ts";

export interface LiveEvents {
  /** Newest first. */
  readonly events: readonly Event[];
  /** Whether the events so far have all been read. */
  readonly isCurrent: boolean;
  /** Error of the last read. A read that may succeed later is repeated. */
  readonly error: unknown;
}

const PAUSE_MS = 5_000;
const PAGE_SIZE = 200;

export interface LiveEventsOptions {
  readonly group: string;
  /** Only events from this many milliseconds ago on. */
  readonly pastMs: number;
  /** Keeps the newest. */
  readonly maxEvents: number;
  /** Only events about this uid; all by default. */
  readonly subject?: string | undefined;
  /** Only events of these types, separated by commas; all by default. */
  readonly types?: string | undefined;
}

export function useLiveEvents({ group, pastMs, maxEvents, subject, types = "" }: LiveEventsOptions): LiveEvents {
  const transport = useTransport();
  const [state, setState] = useState<LiveEvents>({ events: [], isCurrent: false, error: undefined });
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const since = timestampFromDate(new Date(Date.now() - pastMs));
    const wantedTypes = types.split(/[\s,]+/).filter((type) => type !== "");
    setState({ events: [], isCurrent: false, error: undefined });

    let cursor = "";

    /** @returns whether more events wait */
    async function readPage(): Promise<boolean> {
      const page = await callUnaryMethod(
        transport,
        EventsService.method.listEvents,
        { parent: group, since, cursor, types: wantedTypes, pageSize: PAGE_SIZE },
        { signal },
      );
      cursor = page.cursor;
      const wanted = page.events.filter((event) => subject === undefined || event.subject === subject).toReversed();
      setState(({ events }) => ({ events: [...wanted, ...events].slice(0, maxEvents), isCurrent: !page.hasMore, error: undefined }));
      return page.hasMore;
    }

    async function follow(): Promise<void> {
      while (!signal.aborted) {
        const hasMore = await readPage().catch((error: unknown) => {
          if (signal.aborted) return false;
          setState((before) => ({ ...before, error }));
          if (!isPassing(error)) stop.abort();
          return false;
        });
        if (!hasMore) await pause(signal);
      }
    }
    void follow();
    return () => stop.abort();
  }, [transport, group, pastMs, maxEvents, subject, types]);
  return state;
}

/** Also ends when the reader leaves. */
function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, PAUSE_MS);
    signal.addEventListener("abort", end);
  });
}
