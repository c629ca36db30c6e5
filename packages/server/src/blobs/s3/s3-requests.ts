/** Sends requests to one bucket: clients of the AWS SDK, keys below the prefix, repetition, and errors. */
import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import type { Log } from "../../lib/log.ts";
import { errorFromS3, isDamaged } from "./s3-errors.ts";
import type { S3Location } from "./s3-location.ts";

export interface S3BucketOptions {
  readonly location: S3Location;
  readonly log: Log;
  /** Endpoint in URLs for clients, if it differs from that of the location. */
  readonly publicEndpoint?: string;
  /** Longest silence of the service before a request is repeated, in milliseconds. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_ATTEMPTS = 5;
const MAX_SOCKETS = 256;

export class S3Requests implements Disposable {
  /** Signs URLs for clients. */
  readonly signer: S3Client;
  readonly #client: S3Client;
  readonly #location: S3Location;
  readonly #log: Log;

  constructor({ location, log, publicEndpoint = "", timeoutMs = TIMEOUT_MS }: S3BucketOptions) {
    const config = clientConfig(location, timeoutMs);
    this.#client = new S3Client(config);
    this.signer = publicEndpoint === "" ? this.#client : new S3Client({ ...config, endpoint: publicEndpoint });
    this.#location = location;
    this.#log = log;
  }

  /** The place of a key, which is relative to the location's prefix. */
  at(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#location.bucket, Key: `${this.#location.prefix}${key}` };
  }

  /** The opposite of `at`. */
  keyOf(Key: string): string {
    return Key.slice(this.#location.prefix.length);
  }

  /** The SDK repeats requests that were throttled, timed out or cut. Damaged bodies are repeated here. */
  async do<T>(action: string, send: (client: S3Client) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await send(this.#client);
      } catch (error) {
        if (!isDamaged(error) || attempt === MAX_ATTEMPTS) throw errorFromS3(error, action, this.#log);
      }
    }
  }

  [Symbol.dispose](): void {
    this.#client.destroy();
    this.signer.destroy();
  }
}

function clientConfig({ endpoint, region, pathStyle }: S3Location, timeoutMs: number): S3ClientConfig {
  return {
    ...(endpoint !== "" && { endpoint }),
    ...(region !== "" && { region }),
    forcePathStyle: pathStyle,
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: timeoutMs,
      httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
      httpsAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
    },
  };
}
