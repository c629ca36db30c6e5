import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createLog } from "../lib/log.ts";
import { answerEmpty, type RequestHandler } from "./http-exchange.ts";
import { loadOnFirstRequest } from "./lazy-handler.ts";

test("a handler is loaded once for all requests, and again only after it could not be loaded", async () => {
  const loads: PromiseWithResolvers<RequestHandler>[] = [];
  const load = () => {
    const loading = Promise.withResolvers<RequestHandler>();
    loads.push(loading);
    return loading.promise;
  };
  const server = createServer(loadOnFirstRequest(load, createLog("silent"))).listen(0, "127.0.0.1");
  let arrived = 0;
  const both = Promise.withResolvers<void>();
  server.on("request", () => ++arrived % 2 === 0 && both.resolve());
  await once(server, "listening");
  const statusOf = async () => (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).status;

  const refused = [statusOf(), statusOf()];
  await both.promise;
  loads[0]?.reject(new Error("the file is gone"));
  assert.deepEqual(await Promise.all(refused), [503, 503]);

  const served = statusOf();
  await once(server, "request");
  loads[1]?.resolve((_request, response) => answerEmpty(response, 204));
  assert.deepEqual([await served, await statusOf(), loads.length], [204, 204, 2]);
  server.close();
});
