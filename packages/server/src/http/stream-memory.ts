/** Limits the memory of open HTTP/2 streams, whose clients may send large headers and then neither send nor read. */
import { type Holder, MemoryPool } from "./memory-pool.ts";
import type { TransportLimits } from "./transport-limits.ts";

/** The memory of a stream without its headers, with room for the call that it carries. */
const STREAM_BYTES = 16 * 1024;

export type StreamLimits = Pick<TransportLimits, "streamBytes" | "streamBytesPerAddress">;

export function createStreamMemory({ streamBytes, streamBytesPerAddress }: StreamLimits): MemoryPool {
  return new MemoryPool({
    bytes: streamBytes,
    bytesPerHolder: streamBytesPerAddress,
    holderIsFull: "this address has as many open HTTP/2 streams as its limit allows",
    poolIsFull: "the server has as many open HTTP/2 streams as its limit allows",
  });
}

/** Takes the memory of a stream, until the result is disposed of. @throws HoltError RESOURCE_EXHAUSTED, as `MemoryPool.take` */
export function takeStreamMemory(pool: MemoryPool, network: Holder, headerBytes: number): Disposable {
  const bytes = STREAM_BYTES + headerBytes;
  pool.take(network, bytes);
  return { [Symbol.dispose]: () => pool.give(network, bytes) };
}
