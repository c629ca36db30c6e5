/** Finds ports for test servers. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** After 10080, to which `fetch` sends nothing (Fetch Standard, "bad port"). */
const FIRST = 10_081;
/** The first of the ports that systems give to outgoing connections, which could take the port before the server does. */
const END = 32_768;
/**
 * A test process takes ports from one of these many ranges. Test processes that run at the same time usually have different
 * ranges, so none takes a port that another has found but not used yet.
 */
const RANGES = 64;
const PORTS = Math.floor((END - FIRST) / RANGES);
const FIRST_OF_PROCESS = FIRST + (process.pid % RANGES) * PORTS;

let next = randomInt(PORTS);

/** Finds a free port. A server must know its port before it starts, because its tokens contain it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_OF_PROCESS + next;
    // Calls of one process get different ports until all of its range were tried.
    next = (next + 1) % PORTS;
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
