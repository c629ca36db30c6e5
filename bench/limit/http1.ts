/** A node:http server that does only the work of a plan, which it receives from its parent process: no token, no rights, no log. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { prepareExchange } from "./exchange.ts";
import { prepareInsert } from "./inserts.ts";
import type { LimitPlan } from "./plan.ts";
import { prepareQuery, then } from "./query.ts";

type Answer = (request: IncomingMessage) => string | Promise<string>;

process.on("message", (plan: LimitPlan) => {
  const answer = answerOf(plan);
  const server = createServer((request, response) => void then(answer(request), (text) => send(response, text)));
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});

function send(response: ServerResponse, text: string): void {
  const bytes = Buffer.from(text);
  response.writeHead(200, { "content-type": "application/json", "content-length": bytes.length }).end(bytes);
}

function answerOf(plan: LimitPlan): Answer {
  switch (plan.kind) {
    case "get": {
      const query = prepareQuery(plan.target, plan.sql);
      return ({ url = "" }) => then(query([url.slice(url.indexOf("/", PREFIX_LENGTH) + 1)]), ([row]) => row?.[0] as string);
    }
    case "list": {
      const query = prepareQuery(plan.target, plan.sql);
      const [before, between, after] = plan.texts;
      return () =>
        then(query(plan.values), (rows) => {
          const bodies = rows.map(([body]) => body).join(",");
          return `${before}${bodies}${between}${rows[0]?.[1]}${after}`;
        });
    }
    case "create": {
      const insert = prepareInsert(plan);
      const parts = plan.body.split(plan.model);
      return () => insert().then((uid) => parts.join(uid));
    }
    case "exchange": {
      const exchange = prepareExchange(plan);
      return ({ headers }) => exchange((headers.authorization ?? "").slice("Bearer ".length));
    }
  }
}

/** A uid follows `/iam/v2/` and the name of the resource. */
const PREFIX_LENGTH = "/iam/v2/".length;
