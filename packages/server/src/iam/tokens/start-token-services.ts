/** Assembles the verification, the exchange and the issue of tokens. */
import type { Platform } from "../../api/domain.ts";
import { createOutboundClient, type OutboundClient } from "../../outbound/client.ts";
import type { Iam } from "../iam.ts";
import type { IamParts, IamSettings } from "../iam-parts.ts";
import { createUserLogins } from "../identities/user-login.ts";
import { createAccessTokens } from "./access-token.ts";
import { createAudienceList } from "./audience.ts";
import { createAwsProofs } from "./aws-proof.ts";
import { meterExchange } from "./exchange-metrics.ts";
import { createTokenExchange } from "./exchange-token.ts";
import { createJwksCache, type JwksCache } from "./jwks.ts";
import { normalizeIssuer } from "./jwt.ts";
import { createLogins } from "./login.ts";
import { createLoginTokens } from "./login-token.ts";
import { createWaitLimit, type WaitLimit } from "./wait-limit.ts";
import { createWorkloadLogins } from "./workload-login.ts";

/** Reaches the issuers of other tokens. */
interface Issuers {
  readonly client: OutboundClient;
  readonly waits: WaitLimit;
  readonly jwks: JwksCache;
  /** The issuers that the operator named. */
  readonly trustedIssuers: ReadonlySet<string>;
}

export type TokenServices = Issuers & Pick<Iam, "accessTokens" | "loginTokens" | "exchange" | "users" | "issuable">;

export function startTokenServices(platform: Platform, { grants, keys }: IamParts, settings: IamSettings): TokenServices {
  const { store, clock, log, meter, profile, baseUrl: issuer } = platform;
  const { registryUrl, userIssuers, userClientIds, servicePrincipals, awsStsUrl: stsUrl, localAccounts: hasLocalAccounts } = settings;
  const issuable = createAudienceList([issuer, registryUrl, ...settings.audiences]);
  const accessTokens = createAccessTokens({ issuer, keys, clock, audiences: createAudienceList([issuer]), meter });
  const issuers = startIssuers(platform, settings);
  const { client, waits, jwks } = issuers;
  const users = createUserLogins({ store, grants, jwks, issuer, clientIds: userClientIds, userIssuers });
  const workloads = createWorkloadLogins({ jwks, issuer, issuable, servicePrincipals });
  const awsProofs = createAwsProofs({ client, waits, issuer, stsUrl, headerPrefixes: profile.proofHeaders });
  const loginTokens = createLoginTokens({ issuer }, keys);
  const logins = createLogins({ accessTokens, loginTokens, grants, users, workloads, awsProofs, issuable, hasLocalAccounts });
  const exchange = createTokenExchange({ store, log, accessTokens, grants, logins, issuable, defaultAudience: issuer });
  return { ...issuers, accessTokens, loginTokens, exchange: meterExchange(exchange, meter), users, issuable };
}

function startIssuers(platform: Platform, settings: IamSettings): Issuers {
  const { clock, log, meter, tracer } = platform;
  const { userIssuers, servicePrincipals, awsStsUrl, maxConcurrentCalls } = settings;
  const client = platform.own(createOutboundClient({ allowCidrs: settings.outboundAllowCidrs, tracer }));
  const serviceIssuers = [...servicePrincipals.values()].flat().map((subject) => subject.issuer);
  const trustedIssuers = new Set([...userIssuers, ...serviceIssuers].map(normalizeIssuer));
  const waits = createWaitLimit({ maxConcurrentCalls, trusted: new Set([awsStsUrl, ...trustedIssuers]) });
  const jwks = createJwksCache({ client, clock, log, waits, trusted: trustedIssuers, pinned: settings.pinnedIssuers, meter });
  return { client, waits, jwks, trustedIssuers };
}
