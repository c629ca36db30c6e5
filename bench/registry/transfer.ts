/**
 * Load generator for large bodies, run in its own process: each client pulls or pushes a fixed number of blobs, so that every byte counts.
 * It uses plain sockets with one read buffer each, because a full client would become the bottleneck.
 */
import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";

export interface TransferSpec {
  readonly port: number;
  readonly clients: number;
  /** Transfers per client. */
  readonly transfers: number;
  readonly authorization: string | undefined;
  readonly work: { readonly pull: string } | { readonly push: { readonly name: string; readonly size: number } };
}

export interface TransferResult {
  readonly seconds: number;
}

interface Response {
  readonly status: number;
  readonly header: string;
}

interface Connection {
  exchange(head: readonly string[], ...body: readonly Buffer[]): Promise<Response>;
  end(): void;
}

const READ_SIZE = 256 * 1024;
const END = Buffer.from("\r\n\r\n");

function open({ port, authorization }: TransferSpec): Connection {
  const buffer = Buffer.alloc(READ_SIZE);
  let onBytes: (bytes: Buffer) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const onread = {
    buffer,
    callback(length: number) {
      onBytes(buffer.subarray(0, length));
      return true;
    },
  };
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, onread });
  socket.on("error", (error) => fail(error)).on("close", () => fail(new Error("the server closed a connection")));
  const common = [`host: 127.0.0.1:${port}`, ...(authorization === undefined ? [] : [`authorization: ${authorization}`])];
  return {
    end: () => socket.end(),
    exchange: ([first = "", ...head], ...body) =>
      new Promise((resolve, reject) => {
        fail = reject;
        let received = Buffer.alloc(0);
        let response: Response | undefined;
        let missingBytes = 0;
        onBytes = (bytes) => {
          if (response === undefined) {
            received = Buffer.concat([received, bytes]);
            const end = received.indexOf(END);
            if (end < 0) return;
            const header = received.toString("latin1", 0, end);
            response = { status: Number(header.slice(9, 12)), header };
            missingBytes = Number(/content-length: (\d+)/i.exec(header)?.[1] ?? 0) - (received.length - end - END.length);
          } else {
            missingBytes -= bytes.length;
          }
          if (missingBytes <= 0) resolve(response);
        };
        const length = body.reduce((sum, chunk) => sum + chunk.length, 0);
        const size = first.startsWith("GET") ? [] : [`content-length: ${length}`];
        socket.cork();
        socket.write([first, ...common, ...head, ...size, "", ""].join("\r\n"));
        for (const chunk of body) socket.write(chunk);
        socket.uncork();
      }),
  };
}

async function pull(connection: Connection, path: string, transfers: number): Promise<void> {
  for (let i = 0; i < transfers; i++) expect(await connection.exchange([`GET ${path} HTTP/1.1`]), 200);
}

interface Content {
  /** Random bytes that make the blob unique. */
  readonly start: Buffer;
  readonly digest: string;
}

/** Uses POST and PUT, which every registry supports. */
async function push(connection: Connection, name: string, rest: Buffer, contents: readonly Content[]): Promise<void> {
  for (const { start, digest } of contents) {
    const started = expect(await connection.exchange([`POST /v2/${name}/blobs/uploads/ HTTP/1.1`]), 202);
    const location = new URL(/^location: (\S+)/im.exec(started.header)?.[1] ?? "", "http://registry.invalid");
    location.searchParams.set("digest", digest);
    const head = [`PUT ${location.pathname}${location.search} HTTP/1.1`, "content-type: application/octet-stream"];
    expect(await connection.exchange(head, start, rest), 201);
  }
}

function expect(response: Response, status: number): Response {
  if (response.status !== status) throw new Error(`unexpected response: ${response.header}`);
  return response;
}

async function transfer(spec: TransferSpec): Promise<TransferResult> {
  const { clients, transfers, work } = spec;
  const connections = Array.from({ length: clients }, () => open(spec));
  let run: () => Promise<unknown>;
  if ("pull" in work) {
    run = () => Promise.all(connections.map((connection) => pull(connection, work.pull, transfers)));
  } else {
    const { name, size } = work.push;
    const rest = randomBytes(size - 16);
    // Hash before the measurement, because hashing is the client's work.
    const contents = connections.map(() => Array.from({ length: transfers }, () => contentOf(rest)));
    run = () => Promise.all(connections.map((connection, i) => push(connection, name, rest, contents[i] ?? [])));
  }
  const started = performance.now();
  await run();
  const seconds = (performance.now() - started) / 1000;
  for (const connection of connections) connection.end();
  return { seconds };
}

function contentOf(rest: Buffer): Content {
  const start = randomBytes(16);
  return { start, digest: `sha256:${createHash("sha256").update(start).update(rest).digest("hex")}` };
}

process.on("message", (spec: TransferSpec) => {
  transfer(spec).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
