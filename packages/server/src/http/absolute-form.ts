/** Accepts request targets that are whole URLs, as clients send them to proxies. Servers must accept them (RFC 9112 §3.2.2). */
import type { IncomingMessage } from "node:http";

/** A host without user information, and the rest without a fragment, which no request has. Takes linear time. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#@]+)((?:[/?][^#]*)?)$/i;

/** Rewrites the target to a path. Its host replaces that of the header `Host`. */
export function acceptAbsoluteForm(request: IncomingMessage): void {
  const { url = "" } = request;
  if (url.startsWith("/")) return;
  const [, host, rest = ""] = ABSOLUTE_FORM.exec(url) ?? [];
  if (host === undefined) return;
  request.headers.host = host;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
}
