/** Binds handlers to the methods of a service, typed by the contract. */
import type { DescMethodUnary, DescService, Message, MessageShape } from "@bufbuild/protobuf";
import type { ReadDb } from "../../db/store.ts";
import type { Call, JsonText, WriteCall } from "./call.ts";

/** A handler as the pipeline sees it. A `write` handler runs in the call's transaction. */
export type Handler =
  | { readonly kind: "read"; handle(request: Message, call: Call): Promise<Message | JsonText> }
  | {
      readonly kind: "write";
      /** Runs before the transaction; the only place for network I/O and slow computing. `handle` receives the result. */
      prepare?(request: Message, call: Call): Promise<unknown>;
      handle(request: Message, call: WriteCall, prepared: unknown): Promise<Message | JsonText>;
    };

type Request<M extends DescMethodUnary> = MessageShape<M["input"]>;
type Answer<M extends DescMethodUnary> = Promise<MessageShape<M["output"]> | JsonText<M["output"]>>;

export interface ReadHandler<M extends DescMethodUnary> {
  readonly kind: "read";
  handle(request: Request<M>, call: Call<ReadDb>): Answer<M>;
}
export interface WriteHandler<M extends DescMethodUnary, Prepared = unknown> {
  readonly kind: "write";
  prepare?(request: Request<M>, call: Call<ReadDb>): Promise<Prepared>;
  handle(request: Request<M>, call: WriteCall, prepared: Prepared): Answer<M>;
}

type UnaryMethods<S extends DescService> = {
  [K in keyof S["method"] as S["method"][K] extends DescMethodUnary ? K : never]: Extract<S["method"][K], DescMethodUnary>;
};
/** Handlers by local method name. A method without a handler must be in the list of unimplemented methods. */
export type Handlers<S extends DescService> = {
  // biome-ignore lint/suspicious/noExplicitAny: the result of `prepare` has another type in each handler
  readonly [K in keyof UnaryMethods<S>]?: ReadHandler<UnaryMethods<S>[K]> | WriteHandler<UnaryMethods<S>[K], any>;
};

export interface ServiceImplementation {
  readonly service: DescService;
  /** The resource that all its operations are about; undefined if their names say it. */
  readonly kind: string | undefined;
  /** The resource that the field `parent` of its requests names. */
  readonly parentKind: string;
  /** By full method name. */
  readonly handlers: ReadonlyMap<string, Handler>;
}

/** A handler that only reads. */
export function read<M extends DescMethodUnary>(handle: ReadHandler<M>["handle"]): ReadHandler<M> {
  return { kind: "read", handle };
}

/** A handler that runs in a write transaction. */
export function write<M extends DescMethodUnary>(handle: WriteHandler<M, undefined>["handle"]): WriteHandler<M, undefined> {
  return { kind: "write", handle };
}

/**
 * @param kind message name of the resource that all operations are about; needed if their names do not contain it
 * @param parentKind message name of the resource that the field `parent` names; only with a `kind`
 */
export function implement<S extends DescService>(
  service: S,
  handlers: Handlers<S>,
  kind?: string,
  parentKind = "Group",
): ServiceImplementation {
  const byName = new Map<string, Handler>();
  for (const [localName, handler] of Object.entries(handlers)) {
    const method = service.method[localName];
    if (method === undefined) throw new Error(`${service.typeName} has no method ${localName}`);
    byName.set(`${service.typeName}/${method.name}`, handler as Handler);
  }
  return { service, kind, parentKind, handlers: byName };
}
