/** Parsers of settings that are numbers, durations, texts and lists. Each parser throws an Error whose message continues "must be …". */

export const HOUR_MS = 3_600_000;

export function parseInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) throw new Error(`a whole number from ${min} to ${max}`);
    return value;
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: HOUR_MS };

const EXAMPLES = ["24h", "30m", "10s"];

/** @param min in milliseconds, like max and the result */
export function parseDuration(min: number, max: number): (text: string) => number {
  const isWithin = (value: number) => value >= min && value <= max;
  const examples = EXAMPLES.filter((example) => isWithin(millisecondsOf(example))).join(" or ");
  return (text) => {
    const value = millisecondsOf(text);
    if (!isWithin(value)) throw new Error(`a duration from ${durationText(min)} to ${durationText(max)}, such as ${examples}`);
    return value;
  };
}

/** NaN if the text is not a duration. */
function millisecondsOf(text: string): number {
  const [, count, unit = ""] = /^(\d{1,9})(ms|[smh])$/.exec(text) ?? [];
  return Number(count) * (UNITS[unit] ?? Number.NaN);
}

/** In the largest unit that needs no fraction. */
function durationText(milliseconds: number): string {
  const unit = ["h", "m", "s"].find((each) => milliseconds > 0 && milliseconds % (UNITS[each] ?? 1) === 0) ?? "ms";
  return `${milliseconds / (UNITS[unit] ?? 1)}${unit}`;
}

export function orZero(parse: (text: string) => number): (text: string) => number {
  return (text) => {
    try {
      return text === "0" ? 0 : parse(text);
    } catch (error) {
      throw new Error(`0, or ${(error as Error).message}`);
    }
  };
}

/** A comma-separated list of at least one value. */
export function parseEach<T>(parse: (text: string) => T): (text: string) => T[] {
  return (text) => {
    try {
      return text.split(",").map((part) => parse(part.trim()));
    } catch (error) {
      throw new Error(`${(error as Error).message}, or several, separated by commas`);
    }
  };
}

export function parseList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

export function nonEmpty(text: string): string {
  if (text.trim() === "") throw new Error("a path");
  return text;
}

export function parseSwitch(text: string): boolean {
  return matching(/^(on|off)$/, text, "on or off") === "on";
}

export function matching(pattern: RegExp, text: string, what: string): string {
  if (!pattern.test(text)) throw new Error(what);
  return text;
}
