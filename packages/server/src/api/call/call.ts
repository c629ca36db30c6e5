/** The vocabulary of one call: what a transport hands in, what a handler receives, and what it answers. */
import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import type { Access } from "../../access/capabilities.ts";
import type { Principal } from "../../access/principal.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { compileJsonEncoder, messageFromJson } from "../../lib/proto-json.ts";
import type { TraceHeaders } from "../../lib/tracer.ts";
import type { Operation } from "./operation.ts";

/** Facts about a request that the transport knows, without its message. */
export interface CallMetadata {
  readonly protocol: "rest" | "grpc" | "grpc-web" | "connect";
  /** The whole Authorization header, if the client sent one. */
  readonly authorization: string | undefined;
  /** Made by the transport where the client sent none. */
  readonly requestId: string;
  readonly clientId: string | undefined;
  readonly userAgent: string | undefined;
  /** The trace that the client continues here. */
  readonly traceHeaders: TraceHeaders;
  readonly remoteAddress: string;
  /** The version that the client called, if that version is an alias, e.g. `v2beta1`. */
  readonly alias: string | undefined;
  /** Aborted when the client disconnects or its deadline passes. */
  readonly signal: AbortSignal;
  /**
   * Counts the call and its reply for the caller.
   * @param caller uid; undefined for an anonymous caller
   * @throws HoltError RESOURCE_EXHAUSTED while the caller has too many connections or too many unread bytes of replies
   */
  identify(caller: string | undefined): void;
  /**
   * Counts bytes of a reply that is collected before it is sent. The handler gives them back with a negative number.
   * @throws HoltError RESOURCE_EXHAUSTED if the caller would have too many unread bytes of replies
   */
  collect(bytes: number): void;
}

/** Reads and decodes the message of a request on demand. Rejects with HoltError if the message cannot be decoded. */
export type MessageSource = () => Message | Promise<Message>;

/** The JSON text of a message in canonical form (see lib/proto-json.ts), which REST sends unchanged. */
export class JsonText<Desc extends DescMessage = DescMessage> {
  readonly schema: Desc;
  #text: string | (() => string);
  #message: MessageShape<Desc> | undefined;

  /**
   * @param text or a function that makes it when it is needed
   * @param message that `text` was encoded from; left out for a text that was read from the store
   */
  constructor(schema: Desc, text: string | (() => string), message?: MessageShape<Desc>) {
    this.schema = schema;
    this.#text = text;
    this.#message = message;
  }

  get text(): string {
    if (typeof this.#text !== "string") this.#text = this.#text();
    return this.#text;
  }

  /** Bytes of the text as UTF-8. */
  get bytes(): number {
    return Buffer.byteLength(this.text);
  }

  /** Whether the message is known without decoding the text. */
  get isDecoded(): boolean {
    return this.#message !== undefined;
  }

  /** The message that the text stands for; decoded at the first call, unless the text was made from it. */
  message(): MessageShape<Desc> {
    this.#message ??= messageFromJson(this.schema, this.text);
    return this.#message;
  }
}

/** A long message that is encoded already for the protocol of its call: as JSON for REST, as binary for gRPC. */
export class EncodedMessage<Desc extends DescMessage = DescMessage> extends JsonText<Desc> {
  readonly encoded: Uint8Array;

  constructor(schema: Desc, message: MessageShape<Desc>, encoded: Uint8Array) {
    super(schema, () => compileJsonEncoder(schema)(message), message);
    this.encoded = encoded;
  }
}

/** The JSON text of a long message, in chunks that are made while REST sends them. Other protocols cannot send it. */
export class StreamedText<Desc extends DescMessage = DescMessage> extends JsonText<Desc> {
  readonly chunks: AsyncIterable<string>;

  constructor(schema: Desc, chunks: AsyncIterable<string>) {
    super(schema, () => {
      throw new Error(`${schema.typeName}: a reply in chunks was to be sent as a whole`);
    });
    this.chunks = chunks;
  }
}

/** The result of a handler. */
export type Reply = Message | JsonText;

export function messageOf<Desc extends DescMessage>(reply: MessageShape<Desc> | JsonText<Desc>): MessageShape<Desc>;
export function messageOf(reply: Reply): Message;
export function messageOf(reply: Reply): Message {
  return reply instanceof JsonText ? reply.message() : reply;
}

/** One execution of an operation, as its handler sees it. */
export interface Call<Db extends ReadDb = ReadDb> {
  readonly operation: Operation;
  readonly metadata: CallMetadata;
  /** Absent only in public operations. */
  readonly principal: Principal | undefined;
  /** The caller's current rights; empty without a principal. */
  readonly access: Access;
  /** The one time that all parts of the call use. */
  readonly now: Date;
  readonly db: Db;
}

/** A call that may write. `changed` starts as true; a handler that found nothing to do sets it to false, and no event is appended. */
export interface WriteCall extends Call<WriteDb> {
  /** The event shows an organization the claims of a caller who has joined it, also by this call. */
  access: Access;
  changed: boolean;
}
