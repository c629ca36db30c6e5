/** Steps around each attempt of a call: retries, log, authorization. */
import { getOption, hasOption } from "@bufbuild/protobuf";
import type { Interceptor, UnaryRequest } from "@connectrpc/connect";
import { http } from "@holt/api";
import { createBackoff, type RetryOptions } from "./backoff.ts";
import { errorFrom, type HoltError } from "./errors.ts";
import { type TokenSource, tokenBefore } from "./tokens/token-source.ts";
import { REQUEST_ID } from "./transport.ts";

/** One attempt of a call. Contains no token and no message. */
export interface CallRecord {
  readonly service: string;
  readonly method: string;
  readonly requestId: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly durationMs: number;
  /** Undefined if it succeeded. */
  readonly error: HoltError | undefined;
}

/** Sets the Authorization header of calls that have none. */
export function authorize(source: TokenSource): Interceptor {
  return (next) => async (request) => {
    if (!request.header.has("authorization")) {
      const { token } = await tokenBefore(request.signal, source);
      request.header.set("authorization", `Bearer ${token}`);
    }
    return next(request);
  };
}

/** Repeats calls that only read, if the server or the network could not serve them now. Waits as long as the server asks for. */
export function retry(options: RetryOptions = {}): Interceptor {
  const backOff = createBackoff(options);
  return (next) => async (request) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await next(request);
      } catch (cause) {
        if (request.stream || !isRepeatable(request)) throw cause;
        if (!(await backOff(attempt, errorFrom(cause), request.signal))) throw cause;
      }
    }
  };
}

/** By the contract, a call with the HTTP method GET changes nothing (AIP-131, AIP-132). */
function isRepeatable({ method }: UnaryRequest): boolean {
  return hasOption(method, http) && getOption(method, http).pattern.case === "get";
}

export function record(onCall: (call: CallRecord) => void): Interceptor {
  return (next) => {
    const attempts = new WeakMap<object, number>();
    return async (request) => {
      const attempt = (attempts.get(request.header) ?? 0) + 1;
      attempts.set(request.header, attempt);
      const begin = performance.now();
      const report = (error: HoltError | undefined) => {
        const { service, method, header } = request;
        const requestId = header.get(REQUEST_ID) ?? "";
        onCall({ service: service.typeName, method: method.name, requestId, attempt, durationMs: performance.now() - begin, error });
      };
      try {
        const answer = await next(request);
        report(undefined);
        return answer;
      } catch (error) {
        report(errorFrom(error));
        throw error;
      }
    };
  };
}
