/** Settings of sign-in, of the tokens that the server accepts and issues, and of required terms. */
import { parseAudiences, parsePinnedIssuers, parseRequiredTerms, parseServicePrincipals } from "./access-parsers.ts";
import { parseIssuer, parseOrigin } from "./addresses.ts";
import type { SettingGroup } from "./setting.ts";
import { parseList, parseSwitch } from "./values.ts";

export const accessSettings = {
  audiences: {
    env: "HOLT_AUDIENCES",
    fallback: "",
    doc: "Additional audiences that a token exchange may request, next to the base URL. Comma-separated URLs, hosts, or `*.example.com`.",
    parse: parseAudiences,
  },
  userIssuers: {
    env: "HOLT_USER_ISSUERS",
    fallback: "",
    doc: "OIDC issuers whose users may register and sign in, as comma-separated URLs. Holt trusts their claims about a user's email. Removing an issuer locks its users out. Empty: only people of organizations' identity providers register.",
    parse: (text) => parseList(text).map(parseIssuer),
  },
  userClientIds: {
    env: "HOLT_USER_CLIENT_IDS",
    fallback: "",
    doc: "Client ids with which users sign in at those issuers, comma-separated. Tokens of users with these audiences are accepted, next to this server's URL.",
    parse: parseList,
  },
  localAccounts: {
    env: "HOLT_LOCAL_ACCOUNTS",
    fallback: "on",
    doc: "`on` or `off`: whether people whom somebody invites can create an account on this server, with a passkey, or with a password and an authenticator app. With `off`, people with such an account can no longer sign in.",
    parse: parseSwitch,
  },
  /** Empty if the operator has no identity provider. */
  loginIssuer: {
    env: "HOLT_LOGIN_ISSUER",
    fallback: "",
    doc: "OIDC issuer for browser sign-ins of people whose organization has no identity provider of its own. It counts as one of HOLT_USER_ISSUERS. Empty: only organizations' providers sign people in.",
    parse: (text) => (text === "" ? text : parseIssuer(text)),
  },
  loginClientId: {
    env: "HOLT_LOGIN_CLIENT_ID",
    fallback: "",
    doc: "Client id of this server at HOLT_LOGIN_ISSUER. Register `/oauth/callback` below HOLT_BASE_URL there as the redirect URI. It counts as one of HOLT_USER_CLIENT_IDS.",
    parse: (text) => text,
  },
  loginClientSecret: {
    env: "HOLT_LOGIN_CLIENT_SECRET",
    fallback: "",
    isSecret: true,
    doc: "Client secret of HOLT_LOGIN_CLIENT_ID. Empty for a public client.",
    parse: (text) => text,
  },
  /** Issuer → its JWK set. */
  pinnedIssuers: {
    env: "HOLT_PINNED_ISSUERS",
    fallback: "",
    doc: "OIDC issuers whose keys are read from a file instead of fetched, for servers without outbound access: comma-separated entries `issuer=path of a JWKS file`. Read at start.",
    parse: parsePinnedIssuers,
  },
  servicePrincipals: {
    env: "HOLT_SERVICE_PRINCIPALS",
    fallback: "",
    doc: "Token subjects that may assume service-principal identities: comma-separated entries `PRINCIPAL=issuer subject`, for example `INGESTER=https://issuer.example.com system:ingester`.",
    parse: parseServicePrincipals,
  },
  awsStsUrl: {
    env: "HOLT_AWS_STS_URL",
    fallback: "https://sts.amazonaws.com",
    doc: "Endpoint that verifies AWS caller-identity proofs.",
    parse: parseOrigin,
  },
  requiredTerms: {
    env: "HOLT_REQUIRED_TERMS",
    fallback: "",
    doc: "Legal documents that an organization must accept before anyone writes in it; administration of access is exempt. Comma-separated entries `id`, `id=URL` or `id=URL label`, for example `tos.v1=https://example.com/tos Terms of service`.",
    parse: parseRequiredTerms,
  },
} satisfies SettingGroup;
