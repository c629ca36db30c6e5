/** The composition root: the only file that constructs things. Reads from the database upwards to the listener. */
import { services } from "@holt/api";
import type { Principal } from "./access/principal.ts";
import { createPublication } from "./advisories/documents/publication.ts";
import { createFeeds } from "./advisories/feeds/feeds.ts";
import { createFeedsHandler } from "./advisories/feeds/http/feeds-handler.ts";
import { type RemoteImports, startRemoteImports } from "./advisories/import/remote/remote-imports.ts";
import { compileOperations } from "./api/call/operation.ts";
import { createRun } from "./api/call/run.ts";
import { createGrpcHandler } from "./api/grpc/grpc-handler.ts";
import { createHealth } from "./api/grpc/health.ts";
import { createDocsHandler } from "./api/openapi/docs-page.ts";
import { createOpenApiHandler } from "./api/openapi/openapi.ts";
import { createPageTokens } from "./api/resource/page-token.ts";
import { createRefusal } from "./api/rest/error.ts";
import { createRestHandler } from "./api/rest/rest.ts";
import { assertBlobFolder } from "./blobs/blob-folder.ts";
import { createFilesystemBlobs } from "./blobs/filesystem.ts";
import { createStagedFiles } from "./blobs/staged-files.ts";
import { bootstrap } from "./bootstrap.ts";
import type { Config } from "./config.ts";
import { AccessChangeListener } from "./db/access-change.ts";
import { lockDataFolder } from "./db/data-folder-lock.ts";
import { openStore } from "./db/open.ts";
import type { Store } from "./db/store.ts";
import { type Delivery, startDelivery } from "./events/delivery/delivery.ts";
import { createRedelivery } from "./events/delivery/redeliver.ts";
import { createWebhook } from "./events/webhook/webhook.ts";
import { createListener } from "./http/listener.ts";
import { createProtocolFrame, type ProtocolFrame } from "./http/protocol-frame.ts";
import { RequestMemory } from "./http/request-memory.ts";
import { createRouter } from "./http/router.ts";
import { defaultLimits as limits } from "./http/transport-limits.ts";
import { createRegistryAuthenticator } from "./iam/content-login/authenticate.ts";
import { createGrants, type Grants } from "./iam/grants/grants.ts";
import { createPkceSupport } from "./iam/identities/pkce-support.ts";
import { createUserLogins } from "./iam/identities/user-login.ts";
import { createRegistrations } from "./iam/joining/register.ts";
import type { Secrets } from "./iam/secrets/secrets.ts";
import { openSecrets } from "./iam/secrets/secrets-key.ts";
import { type AccessTokens, createAccessTokens } from "./iam/tokens/access-token.ts";
import { createAudienceList } from "./iam/tokens/audience.ts";
import { createAwsProofs } from "./iam/tokens/aws-proof.ts";
import { createTokenExchange, type TokenExchange } from "./iam/tokens/exchange-token.ts";
import { createJwksCache } from "./iam/tokens/jwks.ts";
import { normalizeIssuer } from "./iam/tokens/jwt.ts";
import { createLogins } from "./iam/tokens/login.ts";
import { createLoginTokens } from "./iam/tokens/login-token.ts";
import { createOidcHandlers } from "./iam/tokens/oidc.ts";
import { signJwt } from "./iam/tokens/sign-jwt.ts";
import { createSigningKeys, type SigningKeys } from "./iam/tokens/signing-keys.ts";
import { createTokenTrials } from "./iam/tokens/token-trial.ts";
import { createWaitLimit } from "./iam/tokens/wait-limit.ts";
import { createWorkloadLogins } from "./iam/tokens/workload-login.ts";
import { createServices, unimplemented } from "./index-services.ts";
import { createCallLimit } from "./jobs/limit.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import type { Log } from "./lib/log.ts";
import { createLibrariesHandler } from "./libraries/http/libraries-handler.ts";
import { serveJava } from "./libraries/java/http/java-protocol.ts";
import { servePython } from "./libraries/python/http/python-protocol.ts";
import { createStaging } from "./libraries/stage.ts";
import { createOutboundClient } from "./outbound/client.ts";
import type { EventNames } from "./outbox/outbox.ts";
import { createCollector } from "./registry/collection/gc.ts";
import { createRepoEmptying } from "./registry/content/empty-repo.ts";
import type { RegistryNames } from "./registry/content/oci-events.ts";
import { PullEvents } from "./registry/content/pull-events.ts";
import { createUploads } from "./registry/content/uploads.ts";
import { createOciHandler } from "./registry/oci/oci-handler.ts";
import { createTokenHandler } from "./registry/oci/token-handler.ts";
import { startPackageReader } from "./registry/packages/package-reader.ts";
import { createDirectoryEmptying } from "./scim/empty-directory.ts";
import { createScimHandler } from "./scim/http/scim-handler.ts";
import { createDeviceGrant } from "./sign-in/device-grant.ts";
import { createSignInHandler } from "./sign-in/http/sign-in-handler.ts";
import { PENDING_MS } from "./sign-in/pending.ts";
import { createProviders } from "./sign-in/providers.ts";
import { createSignIn } from "./sign-in/sign-in.ts";
import { createStartLimit } from "./sign-in/start-limit.ts";
import { createUpstreams } from "./sign-in/upstream.ts";

export interface App extends AsyncDisposable {
  readonly port: number;
  /** Takes no new connections and resolves when the running calls are answered. */
  drain(): Promise<void>;
}

/** A server that is listening. What was constructed is closed again in reverse order, also when a later step fails. */
export async function createApp(config: Config, log: Log, clock: Clock = systemClock): Promise<App> {
  await using stack = new AsyncDisposableStack();
  const { baseUrl, vendorProfile: profile, databasePoolSize } = config;
  const registryHost = new URL(config.registryUrl).host;
  if (config.databaseUrl === "") stack.use(lockDataFolder(config.dataDir));
  const store = stack.use(
    await openStore({ url: config.databaseUrl, dataDir: config.dataDir, log, readers: databasePoolSize, writers: databasePoolSize }),
  );
  if (config.databaseUrl !== "") await assertBlobFolder(store, config.dataDir);
  const secrets = await openSecrets({ store, dataDir: config.dataDir, key: config.secretsKey });
  const keys = await createSigningKeys({ store, clock, log });
  const grants = createLiveGrants(config, store, log, stack);
  const { bootstrapOwner, pageTokenKey } = await bootstrap({ store, orgName: config.orgName, issuer: baseUrl, now: clock.now() }, grants);

  const auth = createAuth(config, { store, keys, grants, clock, log }, stack);
  const delivery = createDelivery(config, { store, keys, clock, log }, stack);
  const pageTokens = createPageTokens(pageTokenKey);
  const names = { profile, baseUrl, onAppend: delivery.wake };
  const emptying = { emptyRepo: createRepoEmptying(store), emptyDirectory: createDirectoryEmptying(store) };
  const publication = createPublication({ organizations: config.publicAdvisories });
  const events = { names, onDue: delivery.wake, redelivery: createRedelivery(store) };
  const { outboundAllowCidrs, requiredTerms } = config;
  const { transferIdleMs } = limits;
  const remoteImports = createImports(config, { store, grants, clock, log, bootstrapOwner }, stack);
  const dependencies = {
    ...{ ...auth, ...emptying, ...events, remoteImports },
    ...{ log, grants, secrets, bootstrapOwner, pageTokens, profile, baseUrl, registryHost, outboundAllowCidrs, publication },
  };
  const operations = compileOperations(services, createServices(dependencies), unimplemented);
  const authenticator = { verify: auth.accessTokens.verify, load: (principal: Principal) => grants.loadSession(principal) };
  const limit = createCallLimit(config.maxConcurrentCalls);
  const run = createRun({ store, authenticator, clock, log, names, limit, requiredTerms });

  const memory = new RequestMemory(limits);
  const frame = createProtocolFrame({ limit, log });
  const registry = createRegistry(config, { ...auth, store, grants, clock, log, memory, frame, names: { ...names, registryHost } }, stack);
  const feeds = stack.use(createFeeds({ store, dataDir: config.dataDir, clock, log, baseUrl }));
  const health = createHealth(() => store.ping());
  const grpc = createGrpcHandler({ operations, services, run, profile, limits, memory, health, log });
  const router = createRouter({
    health,
    oidc: createOidcHandlers({ issuer: baseUrl, jwks: keys.jwks, log }),
    openapi: createOpenApiHandler({ operations, baseUrl }),
    docs: createDocsHandler(),
    ...registry,
    signIn: createSignInPages(config, { ...auth, store, grants, clock, log, memory, frame, secrets, names }),
    feeds: createFeedsHandler({ frame, feeds, publication, authenticator, store, profile, baseUrl, transferIdleMs }),
    scim: createScimHandler({ frame, store, grants, clock, memory, baseUrl }),
    rest: createRestHandler({ operations, run, profile, memory, log }),
    refuse: createRefusal(profile),
    limits,
  });
  const listener = stack.use(
    await createListener({
      ...config.listen,
      tls: config.tlsCert === "" ? undefined : { certFile: config.tlsCert, keyFile: config.tlsKey },
      onStream: grpc.handleStream,
      onRequest: (request, response) => void (grpc.handleRequest(request, response) || router(request, response)),
      limits,
      log,
    }),
  );
  const owned = stack.move();
  return {
    port: listener.port,
    drain() {
      health.drain();
      return listener.drain();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** With PostgreSQL there may be other servers: what they change is heard of, and while it cannot be, nothing is remembered. */
function createLiveGrants({ databaseUrl }: Config, store: Store, log: Log, stack: AsyncDisposableStack): Grants {
  if (databaseUrl === "") return createGrants({ store });
  let listener: AccessChangeListener | undefined;
  const grants = createGrants({ store, current: () => listener?.isCurrent() ?? false });
  listener = stack.use(new AccessChangeListener({ url: databaseUrl, log, onChange: grants.invalidate }));
  return grants;
}

/** Begun within a quarter of an hour on this server; each takes about a kilobyte. */
const MAX_SIGN_INS = 60_000;
/** Codes of devices within a minute that no device shows. */
const MAX_GUESSES = 300;

interface AuthParts {
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly grants: Grants;
  readonly clock: Clock;
  readonly log: Log;
}

function createAuth(config: Config, { store, keys, grants, clock, log }: AuthParts, stack: AsyncDisposableStack) {
  const {
    baseUrl: issuer,
    registryUrl,
    userIssuers,
    userClientIds: clientIds,
    servicePrincipals,
    awsStsUrl,
    outboundAllowCidrs,
    vendorProfile,
    maxConcurrentCalls,
  } = config;
  const issuable = createAudienceList([issuer, registryUrl, ...config.audiences]);
  const accessTokens = createAccessTokens({ issuer, keys, clock, audiences: createAudienceList([issuer]) });
  const client = stack.use(createOutboundClient({ allowCidrs: outboundAllowCidrs }));
  const serviceIssuers = [...servicePrincipals.values()].flat().map((subject) => subject.issuer);
  const trusted = new Set([awsStsUrl, ...[...userIssuers, ...serviceIssuers].map(normalizeIssuer)]);
  const waits = createWaitLimit({ maxConcurrentCalls, trusted });
  const jwks = createJwksCache({ client, clock, log, waits, pinned: config.pinnedIssuers });
  const users = createUserLogins({ store, grants, jwks, issuer, clientIds, userIssuers });
  const workloads = createWorkloadLogins({ jwks, issuer, issuable, servicePrincipals });
  const awsProofs = createAwsProofs({ client, waits, issuer, stsUrl: awsStsUrl, headerPrefixes: vendorProfile.proofHeaders });
  const loginTokens = createLoginTokens({ issuer }, keys);
  const logins = createLogins({ accessTokens, loginTokens, grants, users, workloads, awsProofs, issuable });
  const exchange = createTokenExchange({ store, log, accessTokens, grants, logins, issuable, defaultAudience: issuer });
  const pkceSupport = createPkceSupport({ client, waits });
  const registrations = createRegistrations({ users, grants });
  const tokenTrials = createTokenTrials({ accessTokens, grants, jwks, issuer, issuable, servicePrincipals });
  return { accessTokens, loginTokens, exchange, pkceSupport, registrations, tokenTrials, users, client, waits, jwks, issuable };
}

interface SignInParts extends Omit<AuthParts, "keys">, ReturnType<typeof createAuth> {
  readonly secrets: Secrets;
  readonly memory: RequestMemory;
  readonly frame: ProtocolFrame;
  readonly names: EventNames;
}

/** Sign-in with a browser: `/oauth` and what is below. */
function createSignInPages(config: Config, parts: SignInParts) {
  const { baseUrl, loginIssuer: issuer, loginClientId: clientId, loginClientSecret: clientSecret } = config;
  const { store, clock, log, memory, frame, secrets } = parts;
  const providers = createProviders(issuer === "" ? undefined : { issuer, clientId, clientSecret }, secrets);
  const upstreams = createUpstreams({ ...parts, redirectUri: `${baseUrl}/oauth/callback` });
  const limit = createStartLimit(clock, MAX_SIGN_INS, PENDING_MS);
  const signIn = createSignIn({ ...parts, providers, upstreams, limit });
  const deviceGrant = createDeviceGrant({ ...parts, limit });
  const guesses = createStartLimit(clock, MAX_GUESSES, 60_000);
  return createSignInHandler({ frame, signIn, deviceGrant, guesses, store, memory, log, baseUrl });
}

/** What sends events to subscribers. Its requests have a client of their own: a place of the dispatcher is the only thing that they wait for. */
function createDelivery(config: Config, { store, keys, clock, log }: Omit<AuthParts, "grants">, stack: AsyncDisposableStack): Delivery {
  const { baseUrl: issuer, vendorProfile: profile, outboundAllowCidrs: allowCidrs, webhookTimeoutMs: timeoutMs } = config;
  const client = stack.use(createOutboundClient({ allowCidrs, maxConnections: Number.MAX_SAFE_INTEGER }));
  const webhook = createWebhook({ client, sign: (claims) => signJwt(keys, claims), clock, profile, issuer, timeoutMs });
  const policy = { backoffMs: config.webhookBackoffMs, giveUpMs: config.webhookGiveUpMs };
  return stack.use(startDelivery({ store, clock, log, webhook, policy, retentionMs: config.eventRetentionMs }));
}

/** What reads files of advisories that are sent, and fetches those that are mirrored. Its requests wait for none but each other. */
function createImports(
  { dataDir, outboundAllowCidrs: allowCidrs, importMaxBytes: maxBytes, mirrorTimeoutMs: timeoutMs }: Config,
  parts: Omit<AuthParts, "keys"> & { readonly bootstrapOwner: string },
  stack: AsyncDisposableStack,
): RemoteImports {
  const client = stack.use(createOutboundClient({ allowCidrs }));
  const files = createStagedFiles({ dataDir, log: parts.log });
  return stack.use(startRemoteImports({ ...parts, client, files, maxBytes, timeoutMs }));
}

interface RegistryParts extends AuthParts {
  readonly accessTokens: AccessTokens;
  readonly exchange: TokenExchange;
  readonly memory: RequestMemory;
  readonly frame: ProtocolFrame;
  readonly names: RegistryNames;
}

/** What has content: the container registry, `/v2/` and the tokens for it, and libraries, which share its blobs and its logins. */
function createRegistry(config: Config, registry: Omit<RegistryParts, "keys">, stack: AsyncDisposableStack) {
  const { store, log, clock, memory, frame, names, accessTokens } = registry;
  const { baseUrl, registryUrl, dataDir, requiredTerms, vendorProfile, gcGraceMs: graceMs, gcIntervalMs, imagePackages } = config;
  // A token for the registry is for nothing else: the API's audiences are the URL without a path.
  const audience = `${registryUrl}/v2`;
  const authenticator = createRegistryAuthenticator({ ...registry, audiences: createAudienceList([baseUrl, registryUrl, audience]) });
  const blobs = stack.use(createFilesystemBlobs({ dataDir, log }));
  const uploads = createUploads({ store, blobs, clock, graceMs });
  const collector = createCollector({ store, blobs, uploads, clock, log, graceMs });
  if (gcIntervalMs > 0) stack.use(collector.start(gcIntervalMs));
  const pulls = stack.use(new PullEvents({ store, names, log }));
  const packages = imagePackages ? stack.use(startPackageReader({ store, blobs, clock, log })) : undefined;
  const onManifest = () => packages?.wake();
  const shared = { store, blobs, names, clock, memory, requiredTerms, transferIdleMs: limits.transferIdleMs };
  const parts = { ...shared, uploads, pulls, onManifest };
  return {
    oci: createOciHandler({
      frame,
      parts,
      authenticator,
      registryUrl,
      historySegments: vendorProfile.registrySegments,
      requiredTerms,
    }),
    libraries: createLibrariesHandler({
      frame,
      parts: { ...shared, staging: createStaging({ store, blobs }) },
      authenticator,
      protocols: new Map([
        ["python", servePython],
        ["java", serveJava],
      ]),
    }),
    token: createTokenHandler({
      frame,
      store,
      clock,
      accessTokens,
      exchange: registry.exchange,
      authenticator,
      memory,
      audience,
      host: names.registryHost,
    }),
  };
}
