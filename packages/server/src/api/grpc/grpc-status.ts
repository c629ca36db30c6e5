/** Converts errors to the trailers of gRPC and to errors of Connect, with the same message and details as in REST. */
import { toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { type Status, StatusSchema } from "@holt/api/gen/google/rpc/status_pb.ts";
import { HoltError, internal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { type ErrorContext, statusFromError } from "../status.ts";

/** Clients refuse large metadata, some from 8 KiB on, and then lose the error. These bounds leave room for percent-encoding and base64. */
const MAX_MESSAGE = 1_024;
const MAX_DETAILS = 4_096;

export function grpcStatus(error: unknown, context: ErrorContext, log: Log): Status {
  // `run` has logged its errors; any other error is a fault of this transport.
  if (!(error instanceof HoltError)) log.error({ err: error }, "gRPC could not serve a call");
  const status = statusFromError(error instanceof HoltError ? error : internal(error), context);
  // A lone surrogate has no UTF-8 form: percent-encoding would throw on it.
  const message = status.message.toWellFormed();
  status.message = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE).toWellFormed()}…` : message;
  let room = MAX_DETAILS;
  status.details = status.details.filter((detail) => {
    room -= detail.value.length + detail.typeUrl.length;
    return room >= 0;
  });
  return status;
}

/** The trailers that end a call, or its only headers if there is no response. */
export function statusTrailers(status: Status): Record<string, string> {
  const trailers: Record<string, string> = { "grpc-status": String(status.code), "grpc-message": percentEncode(status.message) };
  // "-bin" values are base64; senders should leave out the padding.
  if (status.details.length > 0) {
    trailers["grpc-status-details-bin"] = Buffer.from(toBinary(StatusSchema, status)).toString("base64").replace(/=+$/, "");
  }
  return trailers;
}

/** Printable ASCII except the percent sign stays. Spaces at the ends are encoded: HTTP fields may not have them (RFC 9113 §8.2.1). */
function percentEncode(message: string): string {
  return message.replace(/^ +| +$|[^ -$&-~]+/g, encodeURIComponent);
}

export function connectError(status: Status): ConnectError {
  const error = new ConnectError(status.message, status.code);
  error.details = status.details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }));
  return error;
}
