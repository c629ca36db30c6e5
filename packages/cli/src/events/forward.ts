/** Sends one signed event to a receiver. */
import { HostUnreachable, sendHttp } from "@holt/client/http";

export interface SignedEvent {
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body?: string;
}

export interface Forwarded {
  /** The status of the receiver, or the fault. */
  readonly result: string;
  readonly isAccepted: boolean;
  readonly durationMs: number;
}

/** As long as the server waits for a sink. */
const TIMEOUT_MS = 30_000;

/** A receiver that fails is an outcome, not an error. Rejects only when the signal is aborted. */
export async function forwardEvent(url: string, { headers, body = "" }: SignedEvent, signal: AbortSignal): Promise<Forwarded> {
  const begin = performance.now();
  const { status, fault } = await send(url, headers, Buffer.from(body, "base64"), signal);
  const isAccepted = status !== undefined && status >= 200 && status < 300;
  return { result: status === undefined ? fault : String(status), isAccepted, durationMs: Math.round(performance.now() - begin) };
}

async function send(url: string, headers: SignedEvent["headers"], body: Uint8Array<ArrayBuffer>, signal: AbortSignal) {
  try {
    const response = await sendHttp({ method: "POST", url, headers, body, signal, timeoutMs: TIMEOUT_MS });
    await response.body?.cancel();
    return { status: response.status, fault: "" };
  } catch (error) {
    if (error instanceof HostUnreachable) return { status: undefined, fault: error.message };
    throw error;
  }
}
