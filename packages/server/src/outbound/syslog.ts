/** Sends messages to a syslog server (RFC 5424) over TCP or TLS, with their lengths before them (RFC 6587 §3.4.1, RFC 5425 §4.3). */
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { hostname } from "node:os";
import { connect as connectTls } from "node:tls";

export interface SyslogMessage {
  /** Numerical severity: 4 warning, 6 informational. */
  readonly severity: number;
  /** RFC 3339. */
  readonly time: string;
  readonly text: string;
}

/** Log audit (RFC 5424 §6.2.1). */
const FACILITY = 13;
const TIMEOUT_MS = 10_000;

/**
 * Sends the messages over a connection of their own, and resolves when the server has closed it after the last one. Plain syslog has no
 * acknowledgements: without waiting for that, messages in buffers could be lost unnoticed.
 * @param url `syslog+tcp:` or `syslog+tls:`
 */
export async function sendToSyslog(url: URL, messages: readonly SyslogMessage[]): Promise<void> {
  const isSecure = url.protocol === "syslog+tls:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (isSecure ? 6514 : 601));
  const socket = isSecure ? connectTls({ host, port, servername: host }) : connectTcp({ host, port });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    socket.end(messages.map(framed).join(""));
    socket.resume();
    // Rejects with the error of the socket.
    await once(socket, "close", { signal });
  } finally {
    socket.destroy();
  }
}

function framed({ severity, time, text }: SyslogMessage): string {
  const message = `<${FACILITY * 8 + severity}>1 ${time} ${hostname() || "-"} holtd ${process.pid} audit - ${text}`;
  return `${Buffer.byteLength(message)} ${message}`;
}
