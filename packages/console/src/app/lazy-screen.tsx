/** Loads the code of a screen when a person opens it. */
import { Code, ConnectError } from "@connectrpc/connect";
import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { ErrorPage } from "../frame/error-page.tsx";
import { Loading } from "../frame/loading.tsx";

type LazyScreen = (() => ReactNode) & { readonly preload: () => Promise<void> };

export function lazyScreen(load: () => Promise<ComponentType>): LazyScreen {
  let Loaded: ComponentType | undefined;

  async function attempt(): Promise<void> {
    Loaded ??= await load().catch(explain);
  }

  function Lazy() {
    const [error, setError] = useState<Error>();
    const [, setLoaded] = useState(Loaded !== undefined);
    const start = () => {
      setError(undefined);
      attempt().then(() => setLoaded(true), setError);
    };
    // biome-ignore lint/correctness/useExhaustiveDependencies: later attempts are the person's
    useEffect(() => start(), []);
    if (Loaded !== undefined) return <Loaded />;
    if (error === undefined) return <Loading />;
    return <ErrorPage error={error} reset={start} />;
  }

  async function preload(): Promise<void> {
    // A failure is shown when the screen is drawn.
    Loaded ??= await load().catch(() => undefined);
  }
  return Object.assign(Lazy, { preload });
}

/** The build whose page was loaded again in this tab, because a file was missing. */
const RELOADED = "holt-reloaded";

/** After an upgrade, the server no longer has the files of the page, so the page is loaded again. Without the server, it would be lost. */
async function explain(cause: unknown): Promise<never> {
  const isReachable = await fetch("/console/", { method: "HEAD" }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (!isReachable) throw new ConnectError("The server cannot be reached", Code.Unavailable);
  const build = document.querySelector<HTMLScriptElement>("script[type=module]")?.src ?? "";
  if (sessionStorage.getItem(RELOADED) === build) throw cause;
  sessionStorage.setItem(RELOADED, build);
  location.reload();
  return new Promise(() => undefined);
}
