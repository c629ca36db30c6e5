/** A sink for webhooks: a real HTTP server on loopback that records requests and answers, or fails, as the test sets it. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  /** Path and query. */
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Header names as they were spelled, alternating with their values. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Number of running requests to the same path on arrival, including this one. */
  readonly concurrent: number;
  /** Status of the sink's answer; 0 before it. */
  status: number;
}

/** Handles a request after it was read. */
export type Behaviour = (response: ServerResponse, received: Received) => void;

export interface WebhookReceiver extends AsyncDisposable {
  readonly port: number;
  /** URL without a path. Each path is a separate sink. */
  readonly url: string;
  readonly received: readonly Received[];
  /** The requests that were answered with 2xx. */
  accepted(path?: string): readonly Received[];
  at(path: string): readonly Received[];
  /** Sets the behaviour from the next request on, for one path or for all paths without their own. */
  behave(behaviour: Behaviour, path?: string): void;
  /** Sets the behaviour for the next request to the path alone. */
  behaveOnce(path: string, ...behaviours: Behaviour[]): void;
  forget(): void;
}

/** @param keeps whether requests are recorded; a test with very many checks each in its behaviour */
export async function startWebhookReceiver({ keeps = true } = {}): Promise<WebhookReceiver> {
  let received: Received[] = [];
  let fallback: Behaviour = accept;
  const behaviours = new Map<string, Behaviour>();
  const next = new Map<string, Behaviour[]>();
  const underWay = new Map<string, number>();

  const server = createServer(async (request, response) => {
    const { url = "", method = "", headers, rawHeaders } = request;
    const concurrent = (underWay.get(url) ?? 0) + 1;
    underWay.set(url, concurrent);
    response.once("close", () => underWay.set(url, (underWay.get(url) ?? 0) - 1));
    const body = await bodyOf(request);
    if (body === undefined) return;
    const one: Received = { url, method, headers, rawHeaders, body, concurrent, status: 0 };
    if (keeps) received.push(one);
    const behaviour = next.get(url)?.shift() ?? behaviours.get(url) ?? fallback;
    behaviour(response, one);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const isAccepted = ({ status }: Received): boolean => status >= 200 && status < 300;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get received() {
      return received;
    },
    accepted: (path) => received.filter((one) => isAccepted(one) && (path === undefined || one.url === path)),
    at: (path) => received.filter(({ url }) => url === path),
    behave(behaviour, path) {
      if (path === undefined) fallback = behaviour;
      else behaviours.set(path, behaviour);
    },
    behaveOnce(path, ...list) {
      next.set(path, [...(next.get(path) ?? []), ...list]);
    },
    forget() {
      received = [];
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Undefined if the sender disconnected. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

export const accept: Behaviour = answer(200);

export function answer(status: number, headers: Readonly<Record<string, string>> = {}, body = ""): Behaviour {
  return (response, received) => {
    received.status = status;
    response.writeHead(status, headers).end(body);
  };
}

export const reset: Behaviour = (response) => void response.socket?.resetAndDestroy();

/** Never answers. */
export const silence: Behaviour = () => {};

export function afterMs(ms: number, behaviour: Behaviour): Behaviour {
  return (response, received) => void setTimeout(() => behaviour(response, received), ms).unref();
}

/** Answers a status and an endless body, as fast as possible or one byte at a time. */
export function endless(status: number, pace: "flood" | "trickle" = "flood"): Behaviour {
  return (response, received) => {
    received.status = status;
    response.writeHead(status, { "content-type": "text/plain" });
    const piece = Buffer.alloc(pace === "flood" ? 16_384 : 1, "x");
    const send = (): void => {
      if (response.destroyed) return;
      if (pace === "trickle") setTimeout(() => response.write(piece, send), 5).unref();
      else response.write(piece, send);
    };
    send();
  };
}

/** Answers bytes that are not HTTP. */
export const garbage: Behaviour = (response) => void response.socket?.end("\x16\x03\x01 secret garbage\r\n\r\n");

/** Answers the beginning of a response and closes the connection. */
export const halfAnswer: Behaviour = (response) => void response.socket?.end("HTTP/1.1 200 OK\r\ncontent-le");
