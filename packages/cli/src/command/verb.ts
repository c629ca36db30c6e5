/** The description of a command: its parser, its help, its completion and its page in the documents all come from it. */
import type { ResourceKind } from "../names/kinds.ts";
import type { Invocation } from "./invocation.ts";

export interface ArgumentSpec {
  readonly name: string;
  readonly help: string;
  readonly optional?: true;
  /** Takes all further words. Only for the last argument. */
  readonly variadic?: true;
  /** Completion offers the names of these resources. */
  readonly kind?: ResourceKind;
  /** Completion offers these words. */
  readonly values?: readonly string[];
}

export interface OptionSpec {
  /** Without hyphens. */
  readonly name: string;
  readonly short?: string;
  /** The placeholder of the value. An option without one is a switch. */
  readonly value?: string;
  readonly help: string;
  /** May be given several times; the value is a list. */
  readonly repeated?: true;
  readonly required?: true;
  /** An empty value means something, such as a resource without a description. Others are refused. */
  readonly mayBeEmpty?: true;
  /** A switch that also exists as `--no-<name>`. */
  readonly negatable?: true;
  readonly kind?: ResourceKind;
  readonly values?: readonly string[];
}

export interface Verb {
  /** Words, separated by spaces. */
  readonly path: string;
  /** One sentence. */
  readonly summary: string;
  /** Further paragraphs of the help. */
  readonly description?: string;
  /** Complete command lines. */
  readonly examples?: readonly string[];
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  run(invocation: Invocation): Promise<void>;
}

/** Options of every command. */
export const globalOptions: readonly OptionSpec[] = [
  {
    name: "output",
    short: "o",
    value: "FORMAT",
    help: "table, wide, json, yaml, csv, name or tree",
    values: ["table", "wide", "json", "yaml", "csv", "name", "tree"],
  },
  { name: "context", value: "NAME", help: "the server and account to use; see holt context list" },
  { name: "timeout", value: "DURATION", help: "how long to wait for each answer of the server; 60s by default" },
  { name: "yes", short: "y", help: "do not ask before a destructive change" },
  { name: "verbose", short: "v", help: "print each request and the details of errors on standard error" },
  { name: "help", short: "h", help: "print this help" },
];
