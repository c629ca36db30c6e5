/** The addresses of the console. */
import { createRootRoute, createRoute, createRouter, Outlet, redirect } from "@tanstack/react-router";
import { ErrorPage, NotFoundPage } from "../frame/error-page.tsx";
import { Loading } from "../frame/loading.tsx";
import { parseSearch, stringifySearch } from "../frame/search.ts";
import { startSession } from "../session/session.ts";
import { lazyScreen } from "./lazy-screen.tsx";
import { screens } from "./screens.ts";

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFoundPage });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: lazyScreen(() => import("../session/sign-in.tsx").then(({ SignIn }) => SignIn)),
});

/** Everything but the sign-in needs a session. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  beforeLoad: async ({ location }) => {
    const { kind } = await startSession();
    if (kind === "signedOut") throw redirect({ to: "/sign-in", search: { return: location.href }, replace: true });
  },
});

/** Leads to an organization of the person. */
const organizations = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  component: lazyScreen(() => import("../home/organizations.tsx").then(({ Organizations }) => Organizations)),
});

const organization = createRoute({
  getParentRoute: () => signedIn,
  path: "/$organization",
  component: lazyScreen(() => import("../frame/layout.tsx").then(({ Layout }) => Layout)),
});

const screenRoutes = screens.map(({ path, load }) =>
  createRoute({
    getParentRoute: () => organization,
    path,
    component: lazyScreen(() => load().then(({ Screen }) => Screen)),
    // A dialog about one object must not stay open over the next one.
    remountDeps: ({ params }) => params,
  }),
);

export const router = createRouter({
  routeTree: root.addChildren([signIn, signedIn.addChildren([organizations, organization.addChildren(screenRoutes)])]),
  basepath: "/console",
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultPendingComponent: Loading,
  defaultErrorComponent: ErrorPage,
  defaultNotFoundComponent: NotFoundPage,
  scrollRestoration: true,
});
