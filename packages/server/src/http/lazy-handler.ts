/** Loads the handler of a protocol with its first request, so that servers without such requests do without its libraries. */
import type { RequestHandler } from "./http-exchange.ts";

/** Later requests are handed on at once. */
export function loadOnFirstRequest(load: () => Promise<RequestHandler>): RequestHandler {
  let handler: RequestHandler | undefined;
  let loading: Promise<RequestHandler> | undefined;
  return (request, response) => {
    if (handler !== undefined) return handler(request, response);
    loading ??= load();
    void loading.then((loaded) => {
      handler = loaded;
      loaded(request, response);
    });
  };
}
