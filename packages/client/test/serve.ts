/** Stands for a server in the tests of the client. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export interface StandIn extends AsyncDisposable {
  readonly baseUrl: string;
}

/** Starts a server whose answers a test decides. */
export async function serve(answer: RequestListener): Promise<StandIn> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return { baseUrl: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void (await close()) };
}
