/** Tells why `fetch` could not reach a server: it rejects with a TypeError, and hides the reason in `cause`. */

export function connectionReasonOf({ cause, message }: TypeError): string {
  if (!(cause instanceof Error)) return message;
  const { code, reason } = cause as { readonly code?: string; readonly reason?: string };
  // OpenSSL's own messages contain addresses of memory and files of its source.
  if (code?.startsWith("ERR_SSL_") && reason) return `TLS failed: ${reason}`;
  return cause.message || String(code);
}
