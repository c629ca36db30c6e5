/** Limits of the transports, which apply before a client is authenticated. Sizes are in bytes, times in milliseconds. */

export interface TransportLimits {
  readonly connections: number;
  /** Connections of one remote address, and of one authenticated caller. 0 for no limit. */
  readonly connectionsPerAddress: number;
  readonly connectionsPerCaller: number;
  /** Open streams of an HTTP/2 connection. */
  readonly streamsPerConnection: number;
  /** Unanswered requests of an HTTP/1.1 connection, which its client has pipelined. */
  readonly pipelinedRequests: number;
  /** The memory of the open HTTP/2 streams of all addresses, and of one address. Their headers count, and an estimate for each stream. */
  readonly streamBytes: number;
  readonly streamBytesPerAddress: number;
  readonly headerBytes: number;
  readonly headerFields: number;
  readonly urlBytes: number;
  /** The size of one request message, decompressed. */
  readonly messageBytes: number;
  /** The bytes that all requests under way hold together, and those of one authenticated caller. */
  readonly heldBytes: number;
  readonly heldBytesPerCaller: number;
  /** The same three limits for operations that need no token of this server. Their callers count by their remote address. */
  readonly anonymousMessageBytes: number;
  readonly anonymousHeldBytes: number;
  readonly heldBytesPerAddress: number;
  /** The bytes of answers that wait for their readers: of all authenticated callers together, and of one of them. */
  readonly answerBytes: number;
  readonly answerBytesPerCaller: number;
  /** The same two limits for anonymous callers. They count by their remote address. */
  readonly anonymousAnswerBytes: number;
  readonly answerBytesPerAddress: number;
  /** Transfers of content that one caller has under way at the same time. The anonymous callers of one network count as one. */
  readonly transfersPerCaller: number;
  /** The time from the connection to its first bytes, or to the end of the TLS handshake. */
  readonly firstByteMs: number;
  readonly headersMs: number;
  /** The time from the first byte of a request to its last. */
  readonly requestMs: number;
  /** The longest pause of an upload or download of content, which replaces `requestMs` there. */
  readonly transferIdleMs: number;
  /** How long a client may take nothing of an answer that waits for it. */
  readonly readIdleMs: number;
  /** How long an HTTP/1.1 connection may transfer nothing during a request, for example because the client does not send. */
  readonly stalledMs: number;
  /** How long an HTTP/1.1 connection may be idle between requests. */
  readonly keepAliveMs: number;
  /** How long an HTTP/2 connection may be idle without a stream. A ping restarts the time. */
  readonly sessionIdleMs: number;
}

export const defaultLimits: TransportLimits = {
  connections: 10_000,
  connectionsPerAddress: 1_000,
  connectionsPerCaller: 1_000,
  streamsPerConnection: 100,
  // Hardly any client sends requests so. An address may have a thousand connections, whose requests are handled in one turn.
  pipelinedRequests: 20,
  streamBytes: 256 * 1024 * 1024,
  streamBytesPerAddress: 64 * 1024 * 1024,
  headerBytes: 32 * 1024,
  headerFields: 128,
  urlBytes: 16 * 1024,
  messageBytes: 4 * 1024 * 1024,
  heldBytes: 64 * 1024 * 1024,
  heldBytesPerCaller: 16 * 1024 * 1024,
  anonymousMessageBytes: 64 * 1024,
  anonymousHeldBytes: 32 * 1024 * 1024,
  heldBytesPerAddress: 8 * 1024 * 1024,
  answerBytes: 256 * 1024 * 1024,
  answerBytesPerCaller: 64 * 1024 * 1024,
  anonymousAnswerBytes: 128 * 1024 * 1024,
  answerBytesPerAddress: 32 * 1024 * 1024,
  transfersPerCaller: 256,
  firstByteMs: 15_000,
  headersMs: 15_000,
  requestMs: 60_000,
  transferIdleMs: 60_000,
  readIdleMs: 30_000,
  stalledMs: 180_000,
  keepAliveMs: 75_000,
  sessionIdleMs: 300_000,
};
