/** Starts one server per filled database on first use and keeps it for the following parts. */

import type { Contents } from "./data/fill.ts";
import { closeStores, type Filled, openFilled, type StoreName } from "./data/stores.ts";
import { type HoltOptions, type HoltServer, startHolt } from "./process.ts";
import { scale } from "./scale.ts";

export interface Served<T = Contents> extends Filled<T> {
  readonly server: HoltServer;
  /** An HTTP/1.1 request with the owner's token, base64-encoded for the load generator. */
  request(method: string, path: string, body?: string, headers?: Readonly<Record<string, string>>): string;
  /** Sends the same request once from this process. Throws unless the status is 2xx. */
  fetch(method: string, path: string, body?: string): Promise<string>;
}

const served = new Map<string, Promise<Served>>();

export function serve(name: StoreName, rows: number = scale.rows): Promise<Served> {
  const key = `${name}-${rows}`;
  const server = served.get(key) ?? openFilled(name, rows).then((filled) => serveFilled(filled));
  served.set(key, server);
  return server;
}

/** @param options see `startHolt` */
export async function serveFilled<T>(filled: Filled<T>, options?: HoltOptions): Promise<Served<T>> {
  const server = await startHolt(filled.target, options);
  const { port, token } = server;
  const authorized = { authorization: `Bearer ${token}` };
  return {
    ...filled,
    server,
    request(method, path, body, headers = authorized) {
      const length = body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers, ...length }).map(([key, value]) => `${key}: ${value}`);
      return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body ?? ""}`).toString("base64");
    },
    async fetch(method, path, body) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { ...authorized, "content-type": "application/json" },
        ...(body !== undefined && { body }),
      });
      const content = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${content.slice(0, 500)}`);
      return content;
    },
  };
}

/** Stops all servers, so that they do not disturb the next measurement. */
export async function stopServers(): Promise<void> {
  for (const one of served.values()) await (await one).server[Symbol.asyncDispose]();
  served.clear();
}

export async function closeAll(): Promise<void> {
  await stopServers();
  await closeStores();
}
