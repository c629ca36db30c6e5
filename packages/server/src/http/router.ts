/** Sends a request to the mount of its path; all other paths belong to REST. */
import { Code, HoltError } from "../lib/errors.ts";
import { type HttpRequest, type HttpResponse, type RequestHandler, send } from "./http-exchange.ts";
import { compileMounts, type Mount } from "./mount.ts";
import type { TransportLimits } from "./transport-limits.ts";

export interface RouterOptions {
  readonly mounts: readonly Mount[];
  readonly rest: RequestHandler;
  /** Answers with an error in the form of REST, but with this HTTP status. */
  readonly refuse: (response: HttpResponse, status: number, error: HoltError) => void;
  readonly limits: TransportLimits;
}

export function createRouter({ mounts, rest, refuse, limits }: RouterOptions): RequestHandler {
  const findMount = compileMounts(mounts);
  return (request, response) => {
    const url = request.url ?? "";
    // A character has at most three bytes.
    if (url.length * 3 > limits.urlBytes && Buffer.byteLength(url) > limits.urlBytes) {
      const message = `Invalid argument: the URL is longer than ${limits.urlBytes} bytes`;
      return refuse(response, 414, new HoltError(Code.INVALID_ARGUMENT, message));
    }
    const serve = findMount(pathOf(url)) ?? rest;
    serve(request, response);
  };
}

/** Serves GET and HEAD, and answers 405 to every other method. */
export function readOnly(serve: RequestHandler): RequestHandler {
  return (request, response) => {
    if (isRead(request)) serve(request, response);
    else send(response, 405, { type: "text/plain", text: "Only GET and HEAD are answered here.\n" }, { allow: "GET, HEAD" });
  };
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

function isRead({ method }: HttpRequest): boolean {
  return method === "GET" || method === "HEAD";
}
