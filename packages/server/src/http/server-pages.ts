/** Serves the pages about the server: description, liveness, readiness and API. */
import { type HttpRequest, type HttpResponse, type RequestHandler, send } from "./http-exchange.ts";
import type { Mount } from "./mount.ts";
import { readOnly } from "./router.ts";

const DESCRIPTION = {
  name: "holt",
  description: "A platform-management server: REST, gRPC, gRPC-Web and Connect on this port.",
  docs: "/docs",
  openapi: "/openapi.json",
};

/** Below it, the server answers with the path that it received, so that `holtd doctor` notices a proxy that changes paths. */
export const PATH_ECHO = "/healthz/path/";

export interface ServerPagesOptions {
  /** Its `problem` is undefined while the server is ready. */
  readonly health: { problem(): Promise<string | undefined> };
  /** The present limitation of a ready server, such as a full disk; undefined for none. */
  readonly warning?: () => string | undefined;
  readonly openapi: RequestHandler;
  /** Serves `/docs` and everything below. */
  readonly docs: RequestHandler;
  /** Path of the web console, where browsers that open `/` are led; undefined without a console. */
  readonly consolePath: string | undefined;
}

export function createServerPages(options: ServerPagesOptions): readonly Mount[] {
  const { openapi, docs, consolePath } = options;
  return [
    { paths: ["/"], serve: readOnly((request, response) => answerRoot(request, response, consolePath)) },
    { paths: ["/healthz"], serve: readOnly(answerHealthy) },
    { paths: [`${PATH_ECHO}*`], serve: readOnly(answerPath) },
    { paths: ["/readyz"], serve: readOnly((_request, response) => void answerReady(options, response)) },
    { paths: ["/openapi.json"], serve: readOnly(openapi) },
    { paths: ["/docs", "/docs/*"], serve: readOnly(docs) },
  ];
}

/** Leads people to the console, and describes the server to programs. */
function answerRoot({ headers }: HttpRequest, response: HttpResponse, consolePath: string | undefined): void {
  const varying = { vary: "accept" };
  if (consolePath !== undefined && /\btext\/html\b/.test(headers.accept ?? ""))
    send(response, 302, { type: "text/plain", text: "" }, { ...varying, location: consolePath });
  else send(response, 200, { type: "application/json", text: `${JSON.stringify(DESCRIPTION)}\n` }, varying);
}

function answerHealthy(_request: HttpRequest, response: HttpResponse): void {
  send(response, 200, { type: "text/plain", text: "ok\n" });
}

function answerPath({ url = "" }: HttpRequest, response: HttpResponse): void {
  send(response, 200, { type: "text/plain", text: `${url}\n` }, { "cache-control": "no-store" });
}

/** Never cached: the answer is about this moment. */
async function answerReady({ health, warning }: ServerPagesOptions, response: HttpResponse): Promise<void> {
  const problem = await health.problem();
  send(
    response,
    problem === undefined ? 200 : 503,
    { type: "text/plain", text: `${problem ?? okWith(warning?.())}\n` },
    { "cache-control": "no-store" },
  );
}

/** A server that cannot write still gets traffic: it serves reads and deletions, and another server may have the same disk. */
function okWith(warning: string | undefined): string {
  return warning === undefined ? "ok" : `ok, but ${warning}`;
}
