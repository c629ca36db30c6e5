/** Limits of the transports, which apply before a client is authenticated. Sizes are in bytes, times in milliseconds. */

export interface TransportLimits {
  readonly connections: number;
  readonly streamsPerConnection: number;
  readonly headerBytes: number;
  readonly headerFields: number;
  readonly urlBytes: number;
  /** The size of one request message, decompressed. */
  readonly messageBytes: number;
  /** The bytes that all requests under way hold together. */
  readonly heldBytes: number;
  /** The same two limits for operations that need no token of this server. */
  readonly anonymousMessageBytes: number;
  readonly anonymousHeldBytes: number;
  /** The time from the connection to its first bytes, or to the end of the TLS handshake. */
  readonly firstByteMs: number;
  readonly headersMs: number;
  /** The time from the first byte of a request to its last. */
  readonly requestMs: number;
  /** The longest pause of an upload or download of content, which replaces `requestMs` there. */
  readonly transferIdleMs: number;
  /** How long an HTTP/1.1 connection may transfer nothing during a request, for example because the client does not read the response. */
  readonly stalledMs: number;
  /** How long an HTTP/1.1 connection may be idle between requests. */
  readonly keepAliveMs: number;
  /** How long an HTTP/2 connection may be idle without a stream. A ping restarts the time. */
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
