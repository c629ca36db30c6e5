/** The screens on which a person changes what a failed precondition demands, by the type of the violation. */
import type { Search } from "./search.ts";

/** Which uid the address of the screen has: that of the refused call, that of the organization, or none. */
type Subject = "call" | "organization" | "none";

export interface Remedy {
  /** Text of the link. */
  readonly text: string;
  /** Path of the screen (app/screens.ts), without `$`; or, with `isPage`, the address of a page outside the console. */
  readonly to: string;
  readonly subject: Subject;
  readonly search?: Search;
  readonly isPage?: boolean;
}

const account: Remedy = { text: "Your account", to: "/oauth/account", subject: "none", isPage: true };
const owners: Remedy = { text: "Who has access to the organization", to: "/group", subject: "organization", search: { tab: "access" } };
const organization: Remedy = { text: "The organization", to: "/group", subject: "organization" };
const providers: Remedy = { text: "Identity providers", to: "/identity-providers", subject: "none" };
const anImport: Remedy = { text: "The import", to: "/import", subject: "call" };
const pull: Remedy = { text: "How to pull it", to: "/repository", subject: "call", search: { tab: "pull" } };
/** Only the operator of the server, or a client without a screen, can change it. */
const NONE = undefined;

export const remedies: Readonly<Record<string, Remedy | undefined>> = {
  ACCOUNT_DISABLED: NONE,
  ADVISORY_DELETED: { text: "Advisories", to: "/advisories", subject: "none" },
  ALREADY_LINKED: account,
  BOOTSTRAP_OWNER: NONE,
  BOUND_ELSEWHERE: account,
  CONTENT_TOO_LARGE: pull,
  CONTENT_UNREADABLE: pull,
  EVENT_REVIEW_STATE: { text: "Advisories", to: "/advisories", subject: "none" },
  IMPORT_INCOMPLETE: anImport,
  IMPORT_STARTED: anImport,
  LAST_OWNER: owners,
  LAST_WAY_IN: account,
  LINKED_ELSEWHERE: account,
  LINKS_NOT_ALLOWED: account,
  LOCAL_ACCOUNTS_FORBIDDEN: account,
  LOCAL_ACCOUNTS_OFF: NONE,
  NO_IDENTITY_PROVIDER: providers,
  NO_PASSWORD: account,
  ORGANIZATION_VERIFIED: NONE,
  OWN_PROVIDER_REQUIRED: providers,
  PASSKEY_EXISTS: account,
  PROJECT_STATUS: { text: "Libraries", to: "/libraries", subject: "none" },
  PUBLIC_CONTENT_OFF: NONE,
  PUBLIC_NAME_TAKEN: organization,
  RECOVERY_ENDED: account,
  RESOURCE_IN_USE: { text: "Where the role is bound", to: "/role", subject: "call", search: { tab: "bindings" } },
  RESOURCE_NOT_EMPTY: { text: "The group", to: "/group", subject: "call", search: { tab: "groups" } },
  RIGHTS_END_WITH_SESSION: { text: "Who has access to the group", to: "/group", subject: "call", search: { tab: "access" } },
  SCIM_TOKEN_EXISTS: { text: "SCIM of the identity provider", to: "/identity-provider", subject: "call", search: { tab: "scim" } },
  SECOND_FACTOR_REQUIRED: account,
  SUBSCRIPTION_PAUSED: { text: "The webhook", to: "/subscription", subject: "call" },
  // The alert lists the documents and leads to the screen that accepts them.
  TERMS_NOT_ACCEPTED: NONE,
  TOO_FEW_OWNERS: owners,
  TOO_MANY_BINDINGS: account,
  TOO_MANY_IMAGES: { text: "The image repository", to: "/repository", subject: "call" },
  TOO_MANY_PASSKEYS: account,
  TOO_MANY_SIGNATURE_IDENTITIES: NONE,
  TOO_MANY_SIGNATURE_KEYS: NONE,
  TOO_MUCH_PUBLIC_CONTENT: organization,
};
