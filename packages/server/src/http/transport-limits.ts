/** How much one client may ask of the transports, before anything is known of it. Sizes in bytes, times in milliseconds. */

export interface TransportLimits {
  readonly connections: number;
  readonly streamsPerConnection: number;
  readonly headerBytes: number;
  readonly headerFields: number;
  readonly urlBytes: number;
  /** Of one request message, decompressed. */
  readonly messageBytes: number;
  /** Of all requests under way together. */
  readonly heldBytes: number;
  /** The same two for operations that are called without a token of ours. */
  readonly anonymousMessageBytes: number;
  readonly anonymousHeldBytes: number;
  /** From the connection to its first bytes, or to the end of the TLS handshake. */
  readonly firstByteMs: number;
  readonly headersMs: number;
  /** From the first byte of a request to its last. */
  readonly requestMs: number;
  /** Instead of that, how long an upload or download of content may pause. */
  readonly transferIdleMs: number;
  /** How long an HTTP/1.1 connection may stand still while a request is under way, in particular because its client does not read the answer. */
  readonly stalledMs: number;
  /** How long an HTTP/1.1 connection may idle between requests. */
  readonly keepAliveMs: number;
  /** How long an HTTP/2 connection may idle without a stream; a ping starts the time anew. */
  readonly sessionIdleMs: number;
}

export const defaultLimits: TransportLimits = {
  connections: 10_000,
  streamsPerConnection: 100,
  headerBytes: 32 * 1024,
  headerFields: 128,
  urlBytes: 16 * 1024,
  messageBytes: 4 * 1024 * 1024,
  heldBytes: 64 * 1024 * 1024,
  anonymousMessageBytes: 64 * 1024,
  anonymousHeldBytes: 32 * 1024 * 1024,
  firstByteMs: 15_000,
  headersMs: 15_000,
  requestMs: 60_000,
  transferIdleMs: 60_000,
  stalledMs: 180_000,
  keepAliveMs: 75_000,
  sessionIdleMs: 300_000,
};
