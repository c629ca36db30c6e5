/** A registry client that does exactly what a test says: no retries, no token flow, and headers as given. */
import { createHash } from "node:crypto";
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  /** The code in the body of an error; undefined if there is none. */
  readonly code: string | undefined;
  json(): never;
}

export type Headers = Readonly<Record<string, string>>;

export interface RegistryClient extends Disposable {
  readonly baseUrl: string;
  /** @param path relative to `/v2/`, or absolute if it begins with a slash */
  send(method: string, path: string, options?: { headers?: Headers; body?: string | Buffer }): Promise<Answer>;
  /** Opens a request whose body the test writes. */
  open(method: string, path: string, headers?: Headers): ClientRequest;
  /** Pushes content as a blob. @returns its descriptor */
  blob(name: string, content: string | Buffer, mediaType?: string): Promise<Descriptor>;
  /** Pushes a manifest as JSON. @param reference the digest by default @throws if it is refused */
  manifest(name: string, manifest: object, reference?: string): Promise<Descriptor>;
  /** Pushes an image of one platform with one layer. */
  image(name: string, reference?: string, platform?: { architecture: string; os?: string; variant?: string }): Promise<Descriptor>;
}

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const INDEX = "application/vnd.oci.image.index.v1+json";
export const CONFIG = "application/vnd.oci.image.config.v1+json";
export const LAYER = "application/vnd.oci.image.layer.v1.tar";

export function digestOf(content: string | Buffer, algorithm = "sha256"): string {
  return `${algorithm}:${createHash(algorithm).update(content).digest("hex")}`;
}

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/** @param authorization undefined for an anonymous client */
export function createRegistryClient(baseUrl: string, authorization: string | undefined): RegistryClient {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(baseUrl);
  let images = 0;

  function open(method: string, path: string, headers: Headers = {}): ClientRequest {
    const target = path.startsWith("/") ? path : `/v2/${path}`;
    return httpRequest({
      agent,
      hostname,
      port,
      method,
      path: target,
      headers: { ...(authorization !== undefined && { authorization }), ...headers },
    });
  }

  const client: RegistryClient = {
    baseUrl,
    open,
    send(method, path, { headers = {}, body } = {}) {
      const request = open(method, path, body === undefined ? headers : { "content-length": String(Buffer.byteLength(body)), ...headers });
      request.end(body);
      return answerOf(request);
    },
    async blob(name, content, mediaType = LAYER) {
      const digest = digestOf(content);
      const { status, body } = await client.send("POST", `${name}/blobs/uploads/?digest=${digest}`, { body: content });
      if (status !== 201) throw new Error(`the blob was refused with ${status}: ${body}`);
      return { mediaType, digest, size: Buffer.byteLength(content) };
    },
    async manifest(name, manifest, reference) {
      const content = JSON.stringify(manifest);
      const { mediaType = MANIFEST } = manifest as { mediaType?: string };
      const digest = digestOf(content);
      const path = `${name}/manifests/${reference ?? digest}`;
      const { status, body } = await client.send("PUT", path, { headers: { "content-type": mediaType }, body: content });
      if (status !== 201) throw new Error(`the manifest was refused with ${status}: ${body}`);
      return { mediaType, digest, size: content.length };
    },
    async image(name, reference, { architecture, os = "linux", variant } = { architecture: "amd64" }) {
      const config = await client.blob(name, JSON.stringify({ architecture, os, variant, author: `test ${images++}` }), CONFIG);
      const layer = await client.blob(name, `layer of ${architecture}`);
      return client.manifest(name, { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] }, reference);
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
  return client;
}

export function answerOf(request: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.once("error", reject);
    request.once("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => {
        const body = Buffer.concat(chunks);
        const json = () => JSON.parse(body.toString()) as never;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, code: codeOf(body), json });
      });
    });
  });
}

function codeOf(body: Buffer): string | undefined {
  try {
    return (JSON.parse(body.toString()) as { errors?: { code?: string }[] }).errors?.[0]?.code;
  } catch {
    return undefined;
  }
}
