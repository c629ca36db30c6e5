/** A time: relative on the screen, absolute and in UTC on hover and for screen readers. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { Text } from "@mantine/core";
import { useSyncExternalStore } from "react";

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

const MINUTE_MS = 60_000;

/** A page that is left open shows no times of long ago. */
function subscribeToMinutes(listener: () => void): () => void {
  const timer = setInterval(listener, MINUTE_MS);
  return () => clearInterval(timer);
}

export function Time({ value }: { readonly value: Timestamp | undefined }) {
  useSyncExternalStore(subscribeToMinutes, () => Math.floor(Date.now() / MINUTE_MS));
  if (value === undefined) return <Text span>never</Text>;
  const date = timestampDate(value);
  return (
    <time dateTime={date.toISOString()} title={utcText(date)}>
      {relativeText(date, new Date())}
    </time>
  );
}

export function timeText(value: Timestamp | undefined): string {
  return value === undefined ? "" : timestampDate(value).toISOString();
}

function utcText(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function relativeText(date: Date, now: Date): string {
  const seconds = (date.getTime() - now.getTime()) / 1000;
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return relative.format(Math.round(seconds / length), unit);
}
