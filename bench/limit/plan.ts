/** Plans of limit servers: the work that an answer needs at least. They are sent to the server's process as JSON. */
import type { Target } from "../data/fill.ts";

export type Value = string | number | null;

export type LimitPlan = GetPlan | ListPlan | CreatePlan | ExchangePlan;

interface StoredPlan {
  readonly target: Target;
  /** gRPC: the binary form of the answers, which the store does not have. REST sends the stored bytes. */
  readonly calls?: readonly PreparedCall[];
}

/** A gRPC request message and its answer, both framed and as base64. */
export interface PreparedCall {
  readonly request: string;
  /** The uid that the request names; empty for a list. */
  readonly uid: string;
  readonly answer: string;
}

/** Answers with the body of a row. */
export interface GetPlan extends StoredPlan {
  readonly kind: "get";
  /** Selects the body by the uid. */
  readonly sql: string;
}

/** Answers with the bodies of rows and a total. */
export interface ListPlan extends StoredPlan {
  readonly kind: "list";
  /** Selects bodies and, in each row, the total. */
  readonly sql: string;
  readonly values: readonly Value[];
  /** The answer's text before the bodies, between them and the total, and after the total. */
  readonly texts: readonly [string, string, string];
}

/** Inserts a group and all rows that come with it, and answers with its body. */
export interface CreatePlan {
  readonly kind: "create";
  readonly target: Target;
  readonly parent: string;
  /** In `rows`, stands for the new group's uid. */
  readonly model: string;
  readonly rows: readonly ModelRow[];
  readonly body: string;
}

export interface ModelRow {
  readonly table: string;
  readonly values: Readonly<Record<string, Value>>;
}

/** Verifies the bearer token and signs the text `signed`. */
export interface ExchangePlan {
  readonly kind: "exchange";
  /** Key of the tokens that are verified, in PEM. */
  readonly publicKey: string;
  /** Header and payload of a token, over which it is signed. */
  readonly signed: string;
  /** The answer before and after the signature. */
  readonly texts: readonly [string, string];
}
