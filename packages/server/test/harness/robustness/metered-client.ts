/**
 * Sends requests to a server in this process, and measures what each costs the main thread. The client runs in a thread,
 * so that its own work does not count.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface MeteredRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Sends the body as the message of a gRPC call. The status is then 200, 400 for a refusal, and 500 for a fault. */
  readonly isGrpc?: boolean;
}

export interface Cost {
  readonly status: number;
  /** The beginning of the answer. */
  readonly text: string;
  /** CPU time of the main thread from sending the request until its answer, in milliseconds. */
  readonly cpuMs: number;
  /** By how much the memory of the process grew at the most. */
  readonly memoryMb: number;
}

export interface MeteredClient extends AsyncDisposable {
  send(request: MeteredRequest): Promise<Cost>;
  /** Serves documents by path on a server of the client's thread; `{origin}` in them becomes its URL. @returns its URL */
  serve(documents: Readonly<Record<string, string>>): Promise<string>;
  /** Sends bytes on a connection of its own, until the server closes it. */
  sendBytes(bytes: Uint8Array): Promise<Cost>;
  /** Answers every connection with these bytes, whatever it asks for, on a server of the client's thread. @returns its URL */
  serveBytes(bytes: Uint8Array): Promise<string>;
}

export type ToClient =
  | {
      readonly kind: "send";
      readonly url: string;
      readonly method: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array | undefined;
      readonly isGrpc: boolean;
    }
  | { readonly kind: "serve"; readonly documents: Readonly<Record<string, string>> }
  | { readonly kind: "sendBytes"; readonly url: string; readonly bytes: Uint8Array }
  | { readonly kind: "serveBytes"; readonly bytes: Uint8Array };
export type FromClient =
  | { readonly kind: "answer"; readonly status: number; readonly text: string; readonly memoryMb: number }
  | { readonly kind: "serving"; readonly origin: string };

export function startMeteredClient(baseUrl: string, token: string): MeteredClient {
  const thread = new Worker(new URL("./metered-client-thread.ts", import.meta.url));
  const ask = async (message: ToClient): Promise<FromClient> => {
    thread.postMessage(message);
    const [answer] = (await once(thread, "message")) as [FromClient];
    return answer;
  };
  const measure = async (message: ToClient): Promise<Cost> => {
    const before = process.threadCpuUsage();
    const answer = await ask(message);
    const { user, system } = process.threadCpuUsage(before);
    if (answer.kind !== "answer") throw new Error("the client answered something else");
    const { status, text, memoryMb } = answer;
    return { status, text, cpuMs: (user + system) / 1000, memoryMb };
  };
  const serve = async (message: ToClient): Promise<string> => {
    const answer = await ask(message);
    if (answer.kind !== "serving") throw new Error("the client answered something else");
    return answer.origin;
  };
  return {
    send({ method, path, headers = {}, body, isGrpc = false }) {
      const bytes = typeof body === "string" ? Buffer.from(body) : body;
      const all = { authorization: `Bearer ${token}`, ...headers };
      return measure({ kind: "send", url: baseUrl + path, method, headers: all, body: bytes, isGrpc });
    },
    serve: (documents) => serve({ kind: "serve", documents }),
    sendBytes: (bytes) => measure({ kind: "sendBytes", url: baseUrl, bytes }),
    serveBytes: (bytes) => serve({ kind: "serveBytes", bytes }),
    [Symbol.asyncDispose]: async () => void (await thread.terminate()),
  };
}
