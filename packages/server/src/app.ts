/** Composes the server: the platform, then the domains, then the transports. */
import { startAdvisories } from "./advisories/module.ts";
import { startAuditing } from "./auditing/module.ts";
import type { Config } from "./config.ts";
import { startEvents } from "./events/module.ts";
import { startIam } from "./iam/module.ts";
import type { Log } from "./lib/log.ts";
import { startLibraries } from "./libraries/module.ts";
import { startRegistry } from "./registry/module.ts";
import { createDirectoryEmptying } from "./scim/empty-directory.ts";
import { startScim } from "./scim/module.ts";
import { takeHeadlessSession } from "./sign-in/headless.ts";
import { startSignIn } from "./sign-in/module.ts";
import { createSignInLink } from "./sign-in/sign-in-link.ts";
import { type PlatformOptions, type StartedPlatform, startPlatform } from "./start-platform.ts";
import { type ServedDomains, startTransports } from "./start-transports.ts";

export interface App extends AsyncDisposable {
  readonly port: number;
  /** Signs the bootstrap owner in to the console; only after the first start. */
  readonly signInLink: string | undefined;
  /** Is not ready any more, but serves everything. */
  announceStop(): void;
  /** Takes no new connections and resolves when the running calls are answered. */
  drain(): Promise<void>;
}

/** A server that is listening. Everything that it opened is closed again in reverse order, also when a later step fails. */
export async function createApp(config: Config, log: Log, options: PlatformOptions = {}): Promise<App> {
  await using stack = new AsyncDisposableStack();
  const started = await startPlatform(config, log, options, stack);
  const { listener, health } = await startTransports(config, started, startDomains(config, started), stack);
  const signInLink = await firstSignInLink(config, started);
  const owned = stack.move();
  return {
    port: listener.port,
    signInLink,
    announceStop() {
      health.drain();
      listener.announceStop();
    },
    drain() {
      health.drain();
      return listener.drain();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function startDomains(config: Config, { platform, grants, keys, secrets }: StartedPlatform): ServedDomains {
  const emptyDirectory = createDirectoryEmptying(platform.store);
  const { iam, served } = startIam(platform, { grants, keys, secrets, emptyDirectory, takeHeadlessSession }, config);
  return {
    authenticator: iam.authenticator,
    served: [
      served,
      startEvents(platform, iam, config),
      startRegistry(platform, iam, config),
      startLibraries(platform, iam, config),
      startAdvisories(platform, iam, config),
      startScim(platform, iam),
      startSignIn(platform, iam, config),
      startAuditing(platform, iam, config),
    ],
  };
}

async function firstSignInLink(config: Config, { platform, secrets, isFirstStart }: StartedPlatform): Promise<string | undefined> {
  if (!isFirstStart || !config.console) return undefined;
  return platform.store.transaction((db) => createSignInLink(db, platform.baseUrl, platform.clock.now(), secrets));
}
