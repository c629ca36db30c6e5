/** The vocabulary of one call: what a transport hands in, what a handler is given, and what it answers. Types only. */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Access } from "../../access/capabilities.ts";
import type { Principal } from "../../access/principal.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { Operation } from "./operation.ts";

/** What a transport knows of a request beside its message. */
export interface CallMetadata {
  readonly protocol: "rest" | "grpc" | "grpc-web" | "connect";
  /** The whole Authorization header, if there was one. */
  readonly authorization: string | undefined;
  /** Made by the transport where the client sent none. */
  readonly requestId: string;
  readonly clientId: string | undefined;
  readonly userAgent: string | undefined;
  readonly remoteAddress: string;
  /** The version under which the operation was called where it is an alias, e.g. `v2beta1`. */
  readonly alias: string | undefined;
  /** Aborted when the client is gone or its deadline has passed. */
  readonly signal: AbortSignal;
}

/** Reads and decodes the message of a request, when it is wanted. Rejects with HoltError where the client sent none that can be understood. */
export type MessageSource = () => Message | Promise<Message>;

/** The JSON text of a message, already in canonical form (see lib/proto-json.ts): REST sends it as it is. */
export class JsonText<Desc extends DescMessage = DescMessage> {
  readonly schema: Desc;
  readonly text: string;
  constructor(schema: Desc, text: string) {
    this.schema = schema;
    this.text = text;
  }
}

/** What a handler answers. */
export type Reply = Message | JsonText;

/** One execution of an operation, as its handler sees it. */
export interface Call<Db extends ReadDb = ReadDb> {
  readonly operation: Operation;
  readonly metadata: CallMetadata;
  /** Absent only in public operations. */
  readonly principal: Principal | undefined;
  /** What the caller may do, live; holds nothing where there is no principal. */
  readonly access: Access;
  /** The one moment at which all of this call happens. */
  readonly now: Date;
  readonly db: Db;
}

/** A call that may write. `changed` starts true; a handler that found nothing to do sets it false: no event, no new update time. */
export interface WriteCall extends Call<WriteDb> {
  changed: boolean;
}
