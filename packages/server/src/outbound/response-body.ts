/** Reads the bodies of responses within a limit. */
import type { Dispatcher } from "undici";
import { CollectedBytes } from "../lib/collected-bytes.ts";
import { asOutboundError, OutboundError } from "./error.ts";

type Body = Dispatcher.ResponseData["body"];

/** Time limit for the rest of an ignored body. */
const DUMP_TIMEOUT_MS = 1000;

/** Reads the body to its end or a limit. @returns its beginning */
export async function dump(body: Body, maxBytes: number, keepBytes: number): Promise<Buffer> {
  const timer = setTimeout(() => body.destroy(), DUMP_TIMEOUT_MS);
  const kept: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (size < keepBytes) kept.push(chunk.subarray(0, keepBytes - size));
      size += chunk.length;
      // Leaving the loop destroys the body and its connection.
      if (size > maxBytes) break;
    }
  } catch {
    // The beginning is all that there is.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(kept);
}

/** @throws OutboundError for a body of more than `maxBytes` */
export async function readBody(body: Body, url: URL, maxBytes: number): Promise<Buffer> {
  const bytes = new CollectedBytes();
  await forEachChunk(body, url, maxBytes, (chunk) => bytes.add(chunk));
  return bytes.whole();
}

/** @throws OutboundError for a body of more than `maxBytes`; errors of `use` */
export async function forEachChunk(body: Body, url: URL, maxBytes: number, use: (chunk: Buffer) => Promise<void> | void): Promise<void> {
  let size = 0;
  // Errors of `use` must not become an OutboundError, which would blame the remote server.
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      // Leaving the loop destroys the body and its connection.
      if (size > maxBytes) throw new OutboundError("too_large", `${url.host} answered more than ${maxBytes} bytes`);
      try {
        await use(chunk);
      } catch (error) {
        failure = { error };
        break;
      }
    }
  } catch (error) {
    throw asOutboundError(error, url);
  }
  if (failure !== undefined) throw failure.error;
}
