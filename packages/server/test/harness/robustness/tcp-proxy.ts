/** A TCP proxy between a server and its database, which can delay, cut and black-hole the traffic. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * - pass: new connections reach the target.
 * - silent: new connections are accepted and never answered, as behind a firewall that drops packets.
 * - refused: new connections are closed at once, as by a host without the program.
 */
export type ProxyMode = "pass" | "silent" | "refused";

interface Flow {
  readonly client: Socket;
  readonly target: Socket | undefined;
  isSilent: boolean;
  /** The first bytes of the client. */
  spoken: string;
}

/** Longer than what a client of PostgreSQL sends until it is ready. */
const SPOKEN_LENGTH = 4096;

export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #flows = new Set<Flow>();
  readonly #host: string;
  readonly #port: number;
  #mode: ProxyMode = "pass";
  /** Delay of each chunk of bytes, in either direction. */
  delayMs = 0;

  constructor(server: Server, host: string, port: number) {
    this.#server = server;
    this.#host = host;
    this.#port = port;
    server.on("connection", (client) => this.#accept(client));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Number of connections that forward bytes. */
  get openFlows(): number {
    return [...this.#flows].filter(({ isSilent }) => !isSilent).length;
  }

  /** The mode of new connections. Existing ones stay as they are. */
  accept(mode: ProxyMode): void {
    this.#mode = mode;
  }

  /**
   * Drops all further bytes of the existing connections and closes none of them: neither side notices. They stay dead
   * when the network is back, as after a failover.
   * @param spoken only the connections whose client has said this among its first bytes
   */
  silence(spoken = ""): void {
    for (const flow of this.#flows) if (flow.spoken.includes(spoken)) flow.isSilent = true;
  }

  /** Silences existing and new connections. */
  blackHole(): void {
    this.silence();
    this.accept("silent");
  }

  /** Resets the existing connections. */
  cut(): void {
    for (const { client, target } of this.#flows) {
      client.resetAndDestroy();
      target?.destroy();
    }
  }

  #accept(client: Socket): void {
    client.on("error", () => {});
    if (this.#mode === "refused") return void client.resetAndDestroy();
    const target = this.#mode === "pass" ? connect(this.#port, this.#host) : undefined;
    const flow: Flow = { client, target, isSilent: target === undefined, spoken: "" };
    this.#flows.add(flow);
    client.once("close", () => this.#flows.delete(flow));
    if (target === undefined) return void client.resume();
    target.on("error", () => {});
    client.on("data", (chunk: Buffer) => {
      if (flow.spoken.length < SPOKEN_LENGTH) flow.spoken += chunk.toString("latin1");
    });
    this.#forward(flow, client, target);
    this.#forward(flow, target, client);
  }

  #forward(flow: Flow, from: Socket, to: Socket): void {
    const unlessSilent = (action: () => void) => {
      if (flow.isSilent) return;
      if (this.delayMs === 0) return action();
      setTimeout(() => flow.isSilent || action(), this.delayMs);
    };
    from.on("data", (chunk) => unlessSilent(() => void (to.destroyed || to.write(chunk))));
    from.on("end", () => unlessSilent(() => to.end()));
    from.on("close", () => {
      // The real target must not keep sessions of clients that are gone; the client must not hear of a silent target.
      if (from === flow.client) to.destroy();
      else unlessSilent(() => to.destroy());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const { client, target } of this.#flows) {
      client.destroy();
      target?.destroy();
    }
    await closed;
  }
}

/** Starts a proxy to the address of the URL. */
export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(targetUrl);
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return new TcpProxy(server, hostname, Number(port));
}

/** The URL with the proxy's address in place of its own. */
export function throughProxy(url: string, proxy: TcpProxy): string {
  const proxied = new URL(url);
  proxied.host = `127.0.0.1:${proxy.port}`;
  return proxied.href;
}
