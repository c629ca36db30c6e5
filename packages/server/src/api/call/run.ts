/** The one way from a request to a response, for every operation from every transport: authenticate, read, validate, authorize, demand terms, handle, append the event, commit. */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Store } from "../../db/store.ts";
import type { ConcurrencyLimit } from "../../jobs/limit.ts";
import type { Clock } from "../../lib/clock.ts";
import { Code, codeName, HoltError, internal, unimplemented } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { appendEvent, type EventNames } from "../../outbox/outbox.ts";
import { type Authenticator, authenticate, isOpen } from "./authenticate.ts";
import { authorize } from "./authorize.ts";
import { type CallMetadata, JsonText, type MessageSource, type Reply, type WriteCall } from "./call.ts";
import type { Handler } from "./implement.ts";
import type { Operation } from "./operation.ts";
import { assertTermsFor, type RequiredTerms } from "./required-terms.ts";

export type Run = (operation: Operation, source: MessageSource, metadata: CallMetadata) => Promise<Reply>;

export interface RunDependencies {
  readonly store: Store;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly log: Log;
  readonly names: EventNames;
  readonly requiredTerms: RequiredTerms;
  /** The limit of the process, shared with the protocols that are not calls. */
  readonly limit: ConcurrencyLimit;
}

/** Rejects with nothing but HoltError; what else a handler throws is logged with its cause and leaves as INTERNAL. */
export function createRun(dependencies: RunDependencies): Run {
  const { log, limit } = dependencies;
  return async (operation, source, metadata) => {
    const started = performance.now();
    const trace: Trace = { principal: undefined };
    try {
      // The request of an anonymous caller is read before it takes a slot: such callers could hold all slots by sending slowly.
      const ready = isOpen(operation.access) ? await readAhead(source) : source;
      const reply = await limit.run(() => execute(operation, ready, metadata, dependencies, trace));
      logCall(log, operation, metadata, trace, started, undefined);
      return reply;
    } catch (thrown) {
      const error = thrown instanceof HoltError ? thrown : internal(thrown);
      logCall(log, operation, metadata, trace, started, error);
      throw error;
    }
  };
}

async function readAhead(source: MessageSource): Promise<MessageSource> {
  const request = await source();
  return () => request;
}

/** What the log line says of a call beside its metadata, as far as the call came. */
interface Trace {
  principal: string | undefined;
}

async function execute(
  operation: Operation,
  source: MessageSource,
  metadata: CallMetadata,
  dependencies: RunDependencies,
  trace: Trace,
): Promise<Reply> {
  const { handler } = operation;
  const caller = await authenticate(operation.access, metadata.authorization, dependencies.authenticator);
  trace.principal = caller.principal?.uid;
  if (handler === undefined) throw unimplemented(operation.name);
  // Nothing is read of one whom we do not know.
  const request = await source();
  operation.validate(request);
  await authorize(operation, request, caller, dependencies.store.reader);
  await assertTermsFor(operation, request, dependencies.requiredTerms, dependencies.store.reader);
  const call = {
    operation,
    metadata,
    principal: caller.principal,
    access: caller.access,
    now: dependencies.clock.now(),
    db: dependencies.store.reader,
  };
  if (handler.kind === "read") return handler.handle(request, call);
  const prepared = await handler.prepare?.(request, call);
  return write(operation, handler, request, call, prepared, dependencies);
}

type Prelude = Omit<WriteCall, "db" | "changed">;

/** One transaction: the handler, then its event. An unchanged call appends none. */
function write(
  operation: Operation,
  handler: Extract<Handler, { kind: "write" }>,
  request: Message,
  prelude: Prelude,
  prepared: unknown,
  { store, names }: RunDependencies,
): Promise<Reply> {
  return store.transaction(async (db) => {
    const call: WriteCall = { ...prelude, db, changed: true };
    const reply = await handler.handle(request, call, prepared);
    const { event, method } = operation;
    if (event !== undefined && call.changed) {
      const response = messageOf(method.output, reply);
      const path = operation.bindings[0]?.path ?? "";
      const { type, audience } = event;
      const { metadata, principal, now } = call;
      const actor = principal === undefined ? undefined : { subject: principal.uid, act: principal.actor };
      await appendEvent(db, { method, type, audience, path, alias: metadata.alias, request, response, actor, now }, names);
    }
    return reply;
  });
}

function messageOf(schema: DescMessage, reply: Reply): Message {
  return reply instanceof JsonText ? messageFromJson(schema, reply.text) : reply;
}

function logCall(
  log: Log,
  operation: Operation,
  metadata: CallMetadata,
  trace: Trace,
  started: number,
  error: HoltError | undefined,
): void {
  const line = {
    operation: operation.name,
    code: error === undefined ? "OK" : codeName(error.code),
    ms: Math.round((performance.now() - started) * 1000) / 1000,
    principal: trace.principal,
    requestId: metadata.requestId,
    protocol: metadata.protocol,
    client: metadata.clientId,
    remote: metadata.remoteAddress,
  };
  if (error === undefined) log.info(line, "call");
  else if (error.code === Code.INTERNAL) log.error({ ...line, err: error.cause }, "call");
  else log.info({ ...line, message: error.message }, "call");
}
