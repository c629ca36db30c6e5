/** `/libraries/<protocol>/<owner>/…`: who is calling, the answer or the error. What the protocols say is in a folder each. */

import { cutOffSoon } from "../../http/body-time.ts";
import type { HttpRequest, HttpResponse } from "../../http/http-exchange.ts";
import type { RegistryAuthenticator } from "../../iam/content-login/authenticate.ts";
import { invalidArgument, notFound, resourceExhausted, unauthenticated } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { sendLibraryError } from "./error.ts";
import type { LibraryParts, LibraryProtocol } from "./library-request.ts";

export interface LibrariesOptions {
  readonly parts: LibraryParts;
  readonly authenticator: Pick<RegistryAuthenticator, "authenticate">;
  /** By the segment of the path that names them. */
  readonly protocols: ReadonlyMap<string, LibraryProtocol>;
  readonly log: Log;
  readonly maxConcurrentCalls: number;
}

/** The promise never rejects. */
export function createLibrariesHandler(options: LibrariesOptions): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  const { log, maxConcurrentCalls } = options;
  let running = 0;
  return async (request, response) => {
    const started = performance.now();
    const trace: Trace = { principal: undefined };
    running++;
    try {
      if (running > maxConcurrentCalls) throw resourceExhausted("the server is at its limit of concurrent calls; try again shortly", 1);
      await serve(request, response, options, trace);
    } catch (error) {
      refuse(request, response, error, log);
    } finally {
      running--;
      logRequest(log, request, response, trace, started);
    }
  };
}

interface Trace {
  principal: string | undefined;
}

async function serve(
  request: HttpRequest,
  response: HttpResponse,
  { parts, authenticator, protocols }: LibrariesOptions,
  trace: Trace,
): Promise<void> {
  const caller = await authenticator.authenticate(request.headers.authorization);
  if (caller === undefined) throw unauthenticated("log in: anonymous callers may do nothing here");
  trace.principal = caller.principal.uid;
  const [protocol = "", owner = "", ...path] = segmentsOf(request.url ?? "");
  const serveProtocol = protocols.get(protocol);
  if (serveProtocol === undefined || owner === "") throw notFound("Library", `${protocol}/${owner}`.slice(0, 200));
  const origin = {
    remoteAddress: request.socket?.remoteAddress ?? "",
    userAgent: request.headers["user-agent"]?.slice(0, 256) ?? "",
    actor: { subject: caller.principal.uid, act: caller.principal.actor },
  };
  await serveProtocol({ request, response, method: request.method ?? "", owner, path, caller, origin }, parts);
}

/** Of the path after `/libraries/`. */
function segmentsOf(url: string): readonly string[] {
  const [path = ""] = url.split("?", 1);
  let text: string;
  try {
    text = decodeURIComponent(path);
  } catch (error) {
    throw Object.assign(invalidArgument("path", "the path is not escaped as a URL's must be"), { cause: error });
  }
  if (/\p{Cc}/u.test(text)) throw invalidArgument("path", "the path has control characters");
  // Split first: what is escaped separates nothing.
  return path.slice("/libraries/".length).split("/").map(decodeURIComponent);
}

function refuse(request: HttpRequest, response: HttpResponse, error: unknown, log: Log): void {
  if (response.headersSent) {
    log.error({ err: error }, "an answer of a library broke off");
    return void response.destroy();
  }
  sendLibraryError(response, error, log);
  cutOffSoon(request);
}

/** The path has no secret: passwords of URLs are not sent in it. */
function logRequest(log: Log, { method, url = "", socket }: HttpRequest, response: HttpResponse, trace: Trace, started: number): void {
  const ms = Math.round((performance.now() - started) * 1000) / 1000;
  const [path] = url.split("?", 1);
  log.info({ method, status: response.statusCode, ms, principal: trace.principal, remote: socket?.remoteAddress, path }, "libraries");
}
