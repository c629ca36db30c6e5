/** Finds ports for test servers. */
import { createServer } from "node:net";

/** Finds a free port. A server must know its port before it starts, because its tokens contain it. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
