/** One run of a command: its arguments, and everything that it may use. */
import type { TokenSource } from "@holt/client";
import type { Rest } from "@holt/client/rest";
import type { NamedContext } from "../contexts/contexts.ts";
import type { Session } from "../contexts/session.ts";
import type { ResourceKind } from "../names/kinds.ts";
import type { Output } from "../output/output.ts";

export type OptionValue = string | boolean | readonly string[] | undefined;

export interface Invocation {
  /** By name; a variadic argument is a list. */
  readonly arguments: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** By name without hyphens at the beginning, as declared: `dry-run`. */
  readonly options: Readonly<Record<string, OptionValue>>;
  readonly output: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Value of the option --context. */
  readonly contextName: string | undefined;
  /** The value of an argument that is not variadic; "" if it is left out. */
  argument(name: string): string;
  /** The value of an option that takes one. */
  option(name: string): string | undefined;
  list(name: string): readonly string[];
  isSet(name: string): boolean;
  /** The server of the context, with its token. @param other a context in place of that of the command */
  session(other?: NamedContext): Session;
  /** Calls of a server without a context. */
  rest(baseUrl: string, token?: TokenSource): Rest;
  /** The uid of a resource that the caller names by uid, name or path. */
  uid(kind: ResourceKind, text: string): Promise<string>;
  /** The uid of the group in an option, or that of the context. */
  groupUid(text: string | undefined): Promise<string>;
  /** Asks before a destructive change. @throws Failure if the answer is no */
  confirm(question: string): Promise<void>;
}
