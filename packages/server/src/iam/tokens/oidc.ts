/** Serves the OpenID Connect discovery document and the public keys, so that others can verify Holt's tokens. */

import { type RequestHandler, send } from "../../http/http-exchange.ts";
import type { Mount } from "../../http/mount.ts";
import { readOnly } from "../../http/router.ts";
import type { Log } from "../../lib/log.ts";

export interface OidcOptions {
  /** Exactly as in the `iss` of tokens: verifiers compare byte for byte (OpenID Connect Discovery 1.0 §4.3). */
  readonly issuer: string;
  /** The public keys, as a JSON Web Key Set. */
  readonly jwks: () => Promise<object>;
  readonly log: Log;
}

/**
 * A retired key stays published for a day, but a new key signs at once. Verifiers that refetch on an unknown key notice
 * it immediately; all others within this time.
 */
const JWKS_CACHE = "public, max-age=300";
const DISCOVERY_CACHE = "public, max-age=3600";

export function createOidcMounts({ issuer, jwks, log }: OidcOptions): readonly Mount[] {
  const document = JSON.stringify(discoveryDocument(issuer));
  const discovery: RequestHandler = (_request, response) =>
    send(response, 200, { type: "application/json", text: document }, { "cache-control": DISCOVERY_CACHE });
  const keySet: RequestHandler = (_request, response) => {
    jwks().then(
      (keys) => send(response, 200, { type: "application/json", text: JSON.stringify(keys) }, { "cache-control": JWKS_CACHE }),
      (err: unknown) => {
        log.error({ err }, "cannot read the signing keys");
        send(
          response,
          503,
          { type: "application/json", text: JSON.stringify({ error: "temporarily_unavailable" }) },
          { "retry-after": "5" },
        );
      },
    );
  };
  return [
    { paths: ["/.well-known/openid-configuration"], serve: readOnly(discovery) },
    { paths: ["/.well-known/jwks.json"], serve: readOnly(keySet) },
  ];
}

function discoveryDocument(issuer: string): object {
  const base = issuer.replace(/\/$/, "");
  return {
    issuer,
    authorization_endpoint: `${base}/oauth`,
    jwks_uri: `${base}/.well-known/jwks.json`,
    device_authorization_endpoint: `${base}/oauth/device_authorization`,
    token_endpoint: `${base}/oauth/token`,
    token_endpoint_auth_methods_supported: ["none"],
    grant_types_supported: ["urn:ietf:params:oauth:grant-type:device_code"],
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
  };
}
