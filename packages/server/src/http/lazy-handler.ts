/** Loads the handler of a protocol with its first request, so that servers without such requests do without its libraries. */
import type { Log } from "../lib/log.ts";
import { answerEmpty, type RequestHandler } from "./http-exchange.ts";

/** Later requests are handed on at once. If the handler cannot be loaded, the next request tries again. */
export function loadOnFirstRequest(load: () => Promise<RequestHandler>, log: Log): RequestHandler {
  let handler: RequestHandler | undefined;
  let loading: Promise<RequestHandler> | undefined;
  return (request, response) => {
    if (handler !== undefined) return handler(request, response);
    loading ??= load();
    loading.then(
      (loaded) => {
        handler = loaded;
        loaded(request, response);
      },
      // For example, an upgrade has replaced the files of the running program.
      (error: unknown) => {
        loading = undefined;
        log.error({ err: error }, "cannot load a part of the program; restart the server");
        answerEmpty(response, 503);
      },
    );
  };
}
