/** A feed server that gives configured answers and records the requests. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Answer = (response: ServerResponse, headers: IncomingHttpHeaders) => void;

export interface FeedServer extends AsyncDisposable {
  readonly url: string;
  /** The headers of the requests for each path, in order. */
  asked(path: string): readonly IncomingHttpHeaders[];
  /** Sets the answer for a path. */
  answer(path: string, answer: Answer): void;
}

export async function startFeedServer(): Promise<FeedServer> {
  const answers = new Map<string, Answer>();
  const requests = new Map<string, IncomingHttpHeaders[]>();
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.set(path, [...(requests.get(path) ?? []), request.headers]);
    (answers.get(path) ?? status(404))(response, request.headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: (path) => requests.get(path) ?? [],
    answer: (path, answer) => void answers.set(path, answer),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function status(code: number, headers: Record<string, string> = {}): Answer {
  return (response) => void response.writeHead(code, headers).end("an error page");
}

/** Answers with an entity tag, and with 304 to clients that have it. */
export function tagged(etag: string, bytes: Buffer | string): Answer {
  return (response, headers) => {
    if (headers["if-none-match"] === etag) response.writeHead(304).end();
    else response.writeHead(200, { etag, "last-modified": "Fri, 01 Mar 2024 10:00:00 GMT" }).end(bytes);
  };
}

export function plain(bytes: Buffer | string, headers: Record<string, string> = {}): Answer {
  return (response) => void response.writeHead(200, headers).end(bytes);
}
