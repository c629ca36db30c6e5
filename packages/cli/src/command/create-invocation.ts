/** Gives a command what it may use, and loads it when it is first used. */
import { selectContext } from "../contexts/contexts.ts";
import { openSession, restTo, type Session, type SessionOptions } from "../contexts/session.ts";
import { usageFailure } from "../failure.ts";
import { resolveUid } from "../names/resolve.ts";
import { createOutput, parseFormat } from "../output/output.ts";
import { confirm } from "../terminal/ask.ts";
import { interrupted } from "../terminal/interrupts.ts";
import type { Invocation, OptionValue } from "./invocation.ts";
import { timeoutFrom } from "./timeout.ts";

export interface ParsedLine {
  readonly arguments: Invocation["arguments"];
  readonly options: Readonly<Record<string, OptionValue>>;
}

export function createInvocation(line: ParsedLine): Invocation {
  const { arguments: values, options } = line;
  const isVerbose = options.verbose === true;
  const calls = (): SessionOptions => ({ isVerbose, timeoutMs: timeoutFrom(options.timeout) });
  const contextName = options.context as string | undefined;
  const signal = interrupted;
  let opened: Session | undefined;
  const session: Invocation["session"] = (other) => {
    if (other !== undefined) return openSession(other, calls());
    opened ??= openSession(selectContext(contextName), calls());
    return opened;
  };
  const uid: Invocation["uid"] = (kind, text) => resolveUid(session().rest, kind, text, signal);
  return {
    arguments: values,
    options,
    output: createOutput(parseFormat(options.output as string | undefined)),
    signal,
    contextName,
    argument: (name) => (values[name] as string | undefined) ?? "",
    option: (name) => (typeof options[name] === "string" ? (options[name] as string) : undefined),
    list: (name) => listOf(options[name] ?? values[name]),
    isSet: (name) => options[name] === true,
    session,
    rest: (baseUrl, token) => restTo({ baseUrl, ...(token && { token }) }, calls()),
    uid,
    async groupUid(text) {
      const group = text ?? session().context.group;
      if (group === undefined) throw usageFailure("no group is given", "name one, or set a default: holt context use NAME --group GROUP");
      return uid("group", group);
    },
    confirm: (question) => confirm(question, { isSkipped: options.yes === true, signal }),
  };
}

function listOf(value: OptionValue): readonly string[] {
  if (value === undefined || typeof value === "boolean") return [];
  return typeof value === "string" ? [value] : value;
}
