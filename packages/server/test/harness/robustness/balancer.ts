/** A load balancer that sends each request to the next server, so that nothing can depend on the server that began it. */
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** The servers; requests fail without one. */
  targets: readonly string[];
}

export async function startBalancer(port: number): Promise<Balancer> {
  let serial = 0;
  const balancer = { targets: [] as readonly string[] };
  const server = createServer((request, response) => {
    const target = balancer.targets[serial++ % balancer.targets.length];
    if (target === undefined) return void response.writeHead(502).end();
    const { hostname, port } = new URL(target);
    const { method, url, headers } = request;
    const forwarded = httpRequest({ hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(balancer, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
