/** Counts calls of the contract and measures their time. */
import { Code, codeName } from "../../lib/errors.ts";
import type { Meter } from "../../lib/meter.ts";
import type { CallMetadata } from "./call.ts";
import type { Operation } from "./operation.ts";

export interface CallMetrics {
  /** @param code name of the status code, `OK` for a reply */
  record(operation: Operation, protocol: CallMetadata["protocol"], code: string, seconds: number): void;
}

const PROTOCOLS: ReadonlySet<string> = new Set<CallMetadata["protocol"]>(["rest", "grpc", "grpc-web", "connect"]);

export function createCallMetrics(meter: Meter, operations: readonly Operation[]): CallMetrics {
  const names = new Set(operations.map(({ name }) => name));
  const codes = new Set(["OK", ...Object.values(Code).map(codeName)]);
  const calls = meter.counter({
    name: "holt_calls_total",
    help: "Calls of the contract that ended, by operation, status code and protocol.",
    labels: { operation: names, code: codes, protocol: PROTOCOLS },
  });
  const durations = meter.histogram({
    name: "holt_call_duration_seconds",
    help: "Time of calls, from the first header to the reply, with the time in which the request arrives.",
    labels: { operation: names, protocol: PROTOCOLS },
  });
  return {
    record({ name }, protocol, code, seconds) {
      calls.add(1, name, code, protocol);
      durations.observe(seconds, name, protocol);
    },
  };
}
