/**
 * Every screen of an organization: its address below `/console/<organization>`, its title, and the file that it is in. The navigation, the
 * router and the command palette read this list. `load` makes each screen a file of its own for the browser.
 */
import type { ComponentType } from "react";

export interface Screen {
  /** `$` at the end stands for the uid of the object that the screen shows. */
  readonly path: string;
  readonly title: string;
  /** Where the navigation has the screen; left out for screens of one object. */
  readonly section?: "Overview" | "Content" | "Access" | "Security" | "Operation";
  /** First part of the addresses of the objects that the screen lists. Not that of the list: `$` also matches nothing. */
  readonly objects?: string;
  readonly load: () => Promise<{ readonly Screen: ComponentType }>;
}

export const screens: readonly Screen[] = [
  { path: "/", title: "Home", section: "Overview", load: () => import("../home/home.tsx") },
  { path: "/groups", title: "Groups", section: "Overview", objects: "/group", load: () => import("../tree/tree.tsx") },
  { path: "/group/$", title: "Group", load: () => import("../tree/group.tsx") },
  {
    path: "/repositories",
    title: "Images",
    section: "Content",
    objects: "/repository",
    load: () => import("../registry/repositories.tsx"),
  },
  { path: "/repository/$", title: "Image repository", load: () => import("../registry/repository.tsx") },
  { path: "/tag/$", title: "Tag", load: () => import("../registry/tag.tsx") },
  { path: "/image/$", title: "Image", load: () => import("../registry/image.tsx") },
  {
    path: "/libraries",
    title: "Libraries",
    section: "Content",
    objects: "/library",
    load: () => import("../libraries/libraries.tsx"),
  },
  { path: "/library/$", title: "Library", load: () => import("../libraries/library.tsx") },
  {
    path: "/advisories",
    title: "Advisories",
    section: "Security",
    objects: "/advisory",
    load: () => import("../advisories/advisories.tsx"),
  },
  { path: "/advisory/$", title: "Advisory", load: () => import("../advisories/advisory.tsx") },
  {
    path: "/imports",
    title: "Imports",
    section: "Security",
    objects: "/import",
    load: () => import("../advisories/imports.tsx"),
  },
  { path: "/import/$", title: "Import", load: () => import("../advisories/import.tsx") },
  { path: "/mirrors", title: "Mirrors and feeds", section: "Security", load: () => import("../advisories/mirrors.tsx") },
  {
    path: "/resolved",
    title: "Resolved vulnerabilities",
    section: "Security",
    load: () => import("../advisories/resolved.tsx"),
  },
  {
    path: "/identities",
    title: "Identities",
    section: "Access",
    objects: "/identity",
    load: () => import("../people/identities.tsx"),
  },
  { path: "/new-identity", title: "New identity", load: () => import("../people/new-identity.tsx") },
  { path: "/identity/$", title: "Identity", load: () => import("../people/identity.tsx") },
  { path: "/pull-tokens", title: "Pull tokens", section: "Access", load: () => import("../people/pull-tokens.tsx") },
  { path: "/invites", title: "Invites", section: "Access", load: () => import("../people/invites.tsx") },
  {
    path: "/identity-providers",
    title: "Identity providers",
    section: "Access",
    objects: "/identity-provider",
    load: () => import("../people/identity-providers.tsx"),
  },
  { path: "/identity-provider/$", title: "Identity provider", load: () => import("../people/identity-provider.tsx") },
  { path: "/account-associations", title: "Cloud accounts", section: "Access", load: () => import("../people/account-associations.tsx") },
  { path: "/roles", title: "Roles", section: "Access", objects: "/role", load: () => import("../access/roles.tsx") },
  { path: "/role/$", title: "Role", load: () => import("../access/role.tsx") },
  { path: "/explain", title: "Explain access", section: "Access", load: () => import("../access/explain.tsx") },
  { path: "/terms", title: "Terms", section: "Access", load: () => import("../people/terms.tsx") },
  { path: "/sessions", title: "Sessions", section: "Access", load: () => import("../people/sessions.tsx") },
  { path: "/events", title: "Events", section: "Operation", load: () => import("../events/events.tsx") },
  {
    path: "/subscriptions",
    title: "Webhooks",
    section: "Operation",
    objects: "/subscription",
    load: () => import("../events/subscriptions.tsx"),
  },
  { path: "/subscription/$", title: "Webhook", load: () => import("../events/subscription.tsx") },
];
