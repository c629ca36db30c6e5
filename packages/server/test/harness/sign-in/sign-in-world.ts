/** Starts a server and an identity provider with two clients: one of the operator, one of an organization. */
import type { DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService, OrgKind } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { decodeJwt, type JWTPayload } from "jose";
import { answerOf } from "../clients.ts";
import { freePort } from "../free-port.ts";
import { type StoreName, startServer, type TestServer } from "../harness.ts";
import { createManualClock, type ManualClock } from "../manual-clock.ts";
import { CLIENT, startUpstream, type UpstreamProvider } from "../upstream-provider.ts";
import { createVisitor, type Visitor } from "./visitor.ts";

export interface SignInWorld extends TestServer {
  /** Stands still until a test moves it, or until it is so late that tokens of the provider would come from its future. */
  readonly clock: ManualClock;
  readonly upstream: UpstreamProvider;
  /** A verified organization, `acme.test`, with an identity provider whose default role reads its folders. */
  readonly acme: { readonly uid: string; readonly provider: string; readonly defaultRole: string };
  /** A new visitor without cookies. */
  visitor(): Visitor;
  must<M extends DescMethodUnary>(method: M, request: MessageInitShape<M["input"]>, token?: string): Promise<MessageShape<M["output"]>>;
  role(group: string, capabilities: readonly Capability[]): Promise<string>;
  /** URL of `/oauth` with these parameters. */
  oauth(parameters: Readonly<Record<string, string>>): string;
}

export interface SignInWorldOptions {
  readonly store?: StoreName;
  /** Whether the operator has a provider, too. Defaults to true. */
  readonly hasOperator?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Host of the server's own address; 127.0.0.1 by default. Browsers offer passkeys at localhost only. */
  readonly host?: string;
  /** Whether the provider has most claims at its userinfo endpoint. */
  readonly hasShortTokens?: boolean;
}

/** A return URL where no program listens: tests read the address that the browser is sent to. */
export const PROGRAM = "http://127.0.0.1:9/callback?token=true&error=true";

export async function startSignInWorld({
  store = "sqlite",
  hasOperator = true,
  env = {},
  host = "127.0.0.1",
  hasShortTokens = false,
}: SignInWorldOptions = {}): Promise<SignInWorld> {
  await using cleanUp = new AsyncDisposableStack();
  const port = await freePort();
  const baseUrl = `http://${host}:${port}`;
  const clock = createManualClock(new Date());
  const beforeToken = () => clock.catchUp();
  const upstream = cleanUp.use(await startUpstream({ redirectUris: [`${baseUrl}/oauth/callback`], hasShortTokens, beforeToken }));
  const operator = { HOLT_LOGIN_ISSUER: upstream.issuer, HOLT_LOGIN_CLIENT_ID: CLIENT.id, HOLT_LOGIN_CLIENT_SECRET: CLIENT.secret };
  const settings = {
    HOLT_LISTEN: `127.0.0.1:${port}`,
    HOLT_BASE_URL: baseUrl,
    HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    ...(hasOperator && operator),
    ...env,
  };
  const server = cleanUp.use(await startServer({ store, env: settings, clock }));

  const world = {
    ...server,
    clock,
    upstream,
    visitor: () => createVisitor(baseUrl, upstream.issuer),
    async must<M extends DescMethodUnary>(method: M, request: MessageInitShape<M["input"]>, token = server.token) {
      return answerOf(await server.rest.call(method, request, token));
    },
    async role(parent: string, capabilities: readonly Capability[]) {
      return (await world.must(RolesService.method.createRole, { parent, role: { name: "role", capabilities: [...capabilities] } })).uid;
    },
    oauth: (parameters: Readonly<Record<string, string>>) => `${baseUrl}/oauth?${new URLSearchParams(parameters)}`,
  };
  const group = { name: "acme.test", verified: true, kind: OrgKind.CUSTOMER };
  const { uid } = await world.must(GroupsService.method.createGroup, { group });
  const defaultRole = await world.role(uid, [Capability.CAP_IAM_GROUPS_LIST]);
  const oidc = {
    issuer: upstream.issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    additionalScopes: ["email", "profile", "groups"],
    groupsClaim: "groups",
  };
  const identityProvider = { name: "acme sso", defaultRole, configuration: { case: "oidc", value: oidc } } as const;
  const provider = (await world.must(IdentityProvidersService.method.createIdentityProvider, { parent: uid, identityProvider })).uid;
  const owned = cleanUp.move();
  return { ...world, acme: { uid, provider, defaultRole }, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Claims of a token, without verification. */
export function claimsOf(token: string): JWTPayload & Record<string, unknown> {
  return decodeJwt(token);
}
