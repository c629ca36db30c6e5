/** Finds ports for test servers. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** After 10080, to which `fetch` sends nothing (Fetch Standard, "bad port"). */
const FIRST = 10_081;
/** The first of the ports that systems give to outgoing connections, which could take the port before the server does. */
const END = 32_768;

/** Finds a free port. A server must know its port before it starts, because its tokens contain it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    const probe = createServer();
    probe.listen(port, "127.0.0.1");
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}
