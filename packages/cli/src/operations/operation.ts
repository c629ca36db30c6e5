/** An operation of the contract as `scripts/cli-operations.js` describes it. */
import type { ResourceKind } from "../names/kinds.ts";

export type FieldType = "string" | "number" | "bool" | "enum" | "duration" | "time" | "json" | "bytes" | "map";

/** A field of the request that a flag or an argument sets. */
export interface Field {
  readonly name: string;
  /** Dotted names of the contract. */
  readonly proto: string;
  /** The names in JSON, from the request down. */
  readonly field: readonly string[];
  readonly type: FieldType;
  readonly repeated?: true;
  readonly required?: true;
  /** The kind of resource whose name is accepted instead of a uid. */
  readonly kind?: ResourceKind;
  /** Values of an enum by their short names. */
  readonly values?: Readonly<Record<string, string>>;
  /** Read from a file, so that it does not appear in process lists. */
  readonly secret?: true;
  readonly help: string;
}

export interface Operation {
  readonly path: string;
  /** Service and method. */
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  readonly http: { readonly method: string; readonly path: string; readonly body: string };
  readonly capabilities: readonly string[];
  readonly destructive: boolean;
  readonly arguments: readonly Field[];
  readonly flags: readonly Field[];
  /** The field that names the changed fields, and the field that holds the resource. */
  readonly mask?: { readonly field: string; readonly body: string };
  /** The field of the answer that holds the results of a list. */
  readonly items?: string;
  readonly paged?: boolean;
  readonly columns: readonly string[];
}
