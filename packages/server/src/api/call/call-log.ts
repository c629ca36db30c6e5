/** Logs calls, one line each. The line of a call that succeeds is made without pino, because it costs as much as reading a row. */
import { Code, codeName, type HoltError } from "../../lib/errors.ts";
import { infoLinesOf, isoTime, type Log } from "../../lib/log.ts";
import type { CallMetadata } from "./call.ts";
import type { Operation } from "./operation.ts";

/** A call that has ended. */
export interface LoggedCall {
  readonly operation: Pick<Operation, "name">;
  readonly metadata: Pick<CallMetadata, "requestId" | "protocol" | "clientId" | "remoteAddress">;
  /** Uid; undefined for an anonymous caller. */
  readonly principal: string | undefined;
  readonly ms: number;
}

/** @param error undefined for a call that succeeded */
export type CallLog = (call: LoggedCall, error: HoltError | undefined) => void;

/** pino's number for level info. */
const INFO = 30;

export function createCallLog(log: Log): CallLog {
  const addLine = infoLinesOf(log);
  return (call, error) => {
    if (error === undefined && addLine !== undefined) addLine(lineOf(call, isoTime()));
    else if (error === undefined) log.info(fieldsOf(call, "OK"), "call");
    else if (error.code === Code.INTERNAL) log.error({ ...fieldsOf(call, codeName(error.code)), err: error.cause }, "call");
    else log.info({ ...fieldsOf(call, codeName(error.code)), message: error.message }, "call");
  };
}

/** The line that pino would write for a call that succeeded. */
export function lineOf({ operation, metadata, principal, ms }: LoggedCall, time: string): string {
  const { requestId, protocol, clientId, remoteAddress } = metadata;
  const caller = principal === undefined ? "" : `,"principal":${JSON.stringify(principal)}`;
  const client = clientId === undefined ? "" : `,"client":${JSON.stringify(clientId)}`;
  const head = `{"level":${INFO},"time":"${time}","operation":"${operation.name}","code":"OK","ms":${rounded(ms)}${caller}`;
  const tail = `,"requestId":${JSON.stringify(requestId)},"protocol":"${protocol}"${client},"remote":${JSON.stringify(remoteAddress)}`;
  return `${head}${tail},"msg":"call"}\n`;
}

function fieldsOf({ operation, metadata, principal, ms }: LoggedCall, code: string) {
  const { requestId, protocol, clientId, remoteAddress } = metadata;
  return { operation: operation.name, code, ms: rounded(ms), principal, requestId, protocol, client: clientId, remote: remoteAddress };
}

/** Milliseconds with three digits. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
