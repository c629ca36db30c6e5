/**
 * Runs every operation of every transport, from request to reply: authenticate, read, validate, authorize, demand terms, handle, append
 * the event and the audit entry, commit. A call holds a slot of the process except while it reads its request.
 */
import type { Message } from "@bufbuild/protobuf";
import { actorFromPrincipal } from "../../access/actor.ts";
import { appendWaiting } from "../../audit/append.ts";
import type { Store } from "../../db/store.ts";
import type { DiskSpace } from "../../jobs/disk-space.ts";
import type { ConcurrencyLimit } from "../../jobs/limit.ts";
import type { Clock } from "../../lib/clock.ts";
import { codeName, HoltError, internal, unimplemented } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { type Attributes, noTracer, type Tracer } from "../../lib/tracer.ts";
import { appendEvent, type EventNames } from "../../outbox/outbox.ts";
import { type CallAudit, deferCallAudit, recordFailure, recordRead } from "./audit-call.ts";
import { type Authenticator, authenticate, type Caller } from "./authenticate.ts";
import { authorize } from "./authorize.ts";
import { type Call, type CallMetadata, type MessageSource, messageOf, type Reply, type WriteCall } from "./call.ts";
import { type CallLog, createCallLog } from "./call-log.ts";
import type { CallMetrics } from "./call-metrics.ts";
import type { CallRates } from "./call-rates.ts";
import { countedOrganizations } from "./counted-organizations.ts";
import type { Handler } from "./implement.ts";
import type { Operation } from "./operation.ts";
import { assertTermsFor, type RequiredTerms } from "./required-terms.ts";
import type { UnservedCalls } from "./unserved-calls.ts";

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
  readonly unserved: UnservedCalls;
  readonly audit: CallAudit;
  readonly metrics?: CallMetrics;
  readonly tracer?: Tracer;
  /** Undefined to write as long as the disk takes it. */
  readonly disk?: DiskSpace | undefined;
  /** Undefined for no limits of calls per second. */
  readonly rates?: CallRates | undefined;
}

/** The dependencies, and objects that are made from them once. */
interface Running extends RunDependencies {
  readonly logCall: CallLog;
}

/** Rejects with HoltError only. Any other error of a handler is logged with its cause and leaves as INTERNAL. */
export function createRun(dependencies: RunDependencies): Run {
  const { tracer = noTracer } = dependencies;
  const parts: Running = { ...dependencies, logCall: createCallLog(dependencies.log) };
  if (!tracer.isActive) return (operation, source, metadata) => runCall(runningCall(operation, metadata), source, parts);
  return (operation, source, metadata) => {
    const running = runningCall(operation, metadata);
    return tracer.span(
      { name: operation.name, kind: "server", attributes: attributesOf(running), parent: metadata.traceHeaders },
      async (span) => {
        try {
          return await runCall(running, source, parts);
        } finally {
          span.set({ "holt.principal": running.caller?.principal?.uid });
        }
      },
    );
  };
}

function runningCall(operation: Operation, metadata: CallMetadata): RunningCall {
  return { operation, metadata, started: performance.now(), caller: undefined, request: undefined };
}

function attributesOf({ operation, metadata }: RunningCall): Attributes {
  return { "rpc.method": operation.name, "rpc.system.name": metadata.protocol, "holt.request_id": metadata.requestId };
}

async function runCall(running: RunningCall, source: MessageSource, dependencies: Running): Promise<Reply> {
  const { audit, clock } = dependencies;
  try {
    const reply = await answer(running, source, dependencies);
    recordCall(dependencies, running, undefined);
    if (running.operation.handler?.kind === "read") recordRead(audit, running, clock);
    return reply;
  } catch (thrown) {
    const error = thrown instanceof HoltError ? thrown : internal(thrown);
    recordCall(dependencies, running, error);
    recordFailure(audit, running, error, clock.now());
    throw error;
  }
}

/** A call waits for its request without a slot: callers that send slowly could hold all of them. */
async function answer(running: RunningCall, source: MessageSource, dependencies: Running): Promise<Reply> {
  let slot = dependencies.limit.take();
  try {
    let caller = authenticateCaller(running, dependencies);
    if (caller instanceof Promise) caller = await caller;
    const handler = admit(running, caller, dependencies);
    let request = source();
    if (request instanceof Promise) {
      slot.release();
      request = await request;
      slot = dependencies.limit.take();
      // Rights may have changed while the message arrived.
      caller = await authenticateCaller(running, dependencies);
    }
    running.request = request;
    return await execute(running, { caller, handler, request }, dependencies);
  } finally {
    slot.release();
  }
}

/** The facts of a call for its log line and its audit entry. */
interface RunningCall {
  readonly operation: Operation;
  readonly metadata: CallMetadata;
  /** In milliseconds, by `performance.now()`. */
  readonly started: number;
  /** Undefined until the call has authenticated it. */
  caller: Caller | undefined;
  /** Undefined until it was read. */
  request: Message | undefined;
}

/** A call whose request is read. */
interface ReadCall {
  readonly caller: Caller;
  readonly handler: Handler;
  readonly request: Message;
}

/** @returns the caller at once if its token and its rights are known */
function authenticateCaller({ operation, metadata }: RunningCall, dependencies: RunDependencies): Caller | Promise<Caller> {
  const { authenticator, tracer = noTracer } = dependencies;
  const { access } = operation;
  if (!tracer.isActive) return authenticate(access, metadata.authorization, authenticator);
  return tracer.span(AUTHENTICATION, async () => authenticate(access, metadata.authorization, authenticator));
}

const AUTHENTICATION = { name: "authentication" };
const AUTHORIZATION = { name: "authorization" };

/** @returns the handler of the operation, whose request may be read */
function admit(running: RunningCall, caller: Caller, { unserved }: RunDependencies): Handler {
  const { operation, metadata } = running;
  running.caller = caller;
  metadata.identify(caller.principal?.uid);
  if (operation.handler !== undefined) return operation.handler;
  unserved.report(operation.name, metadata);
  throw unimplemented(operation.name);
}

async function execute(
  { operation, metadata }: RunningCall,
  { caller, handler, request }: ReadCall,
  dependencies: RunDependencies,
): Promise<Reply> {
  const { requiredTerms, clock, disk, rates, tracer = noTracer } = dependencies;
  const { reader } = dependencies.store;
  const { principal, access } = caller;
  operation.validate(request);
  if (tracer.isActive) await tracer.span(AUTHORIZATION, async () => authorize(operation, request, caller, reader));
  else {
    const asked = authorize(operation, request, caller, reader);
    if (asked !== undefined) await asked;
  }
  if (rates !== undefined) {
    const admitted = rates.admit(countedOrganizations(operation, request, access), principal?.uid, reader);
    if (admitted !== undefined) await admitted;
  }
  if (requiredTerms.length > 0) await assertTermsFor(operation, request, requiredTerms, reader);
  const call = { operation, metadata, principal, access, now: clock.now(), db: reader };
  if (handler.kind === "read") return await handler.handle(request, call);
  if (operation.grows) disk?.assertFor();
  const prepared = await handler.prepare?.(request, call);
  return await write(call, request, (writeCall) => handler.handle(request, writeCall, prepared), dependencies);
}

/** One transaction: the handler, then its event and its audit entry. An unchanged call appends none. */
function write(
  prelude: Call,
  request: Message,
  handle: (call: WriteCall) => Promise<Reply>,
  { store, names }: RunDependencies,
): Promise<Reply> {
  return store.transaction(async (db) => {
    const call: WriteCall = { ...prelude, db, changed: true };
    // One entry for the call, whatever events its handler appends.
    db.audit.isCovered = true;
    const reply = await handle(call);
    if (call.changed) {
      deferCallAudit(call, request, reply, names.subjects);
      await appendEventOf(call, request, reply, names);
      await appendWaiting(db);
    }
    return reply;
  });
}

/** Appends the event of a write, where its operation has one. */
async function appendEventOf(call: WriteCall, request: Message, reply: Reply, names: EventNames): Promise<void> {
  const { event, method, bindings } = call.operation;
  if (event === undefined) return;
  const { type, audience } = event;
  const { metadata, principal, now } = call;
  const path = bindings[0]?.path ?? "";
  const response = messageOf(reply);
  const actor = principal === undefined ? undefined : actorFromPrincipal(principal, call.access);
  await appendEvent(call.db, { method, type, audience, path, alias: metadata.alias, request, response, actor, now }, names);
}

function recordCall(
  { metrics, logCall }: Running,
  { operation, metadata, started, caller }: RunningCall,
  error: HoltError | undefined,
): void {
  const ms = performance.now() - started;
  metrics?.record(operation, metadata.protocol, error === undefined ? "OK" : codeName(error.code), ms / 1000);
  logCall({ operation, metadata, principal: caller?.principal?.uid, ms }, error);
}
