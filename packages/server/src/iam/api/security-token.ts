/**
 * The token service on the wire. The token to exchange is in the Authorization header; answers have only fields that strict clients know.
 */
import { create } from "@bufbuild/protobuf";
import {
  type RawToken,
  RawTokenSchema,
  SecurityTokenService,
  TokenPairSchema,
} from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { bearerToken } from "../../api/call/authenticate.ts";
import type { Call } from "../../api/call/call.ts";
import { implement } from "../../api/call/implement.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import type { TokenExchange } from "../tokens/exchange-token.ts";
import type { IssuedToken } from "../tokens/issue-token.ts";
import type { PreparedExchange } from "../tokens/record-exchange.ts";

export function securityTokenService({ exchange }: { readonly exchange: TokenExchange }) {
  return implement(SecurityTokenService, {
    exchange: {
      kind: "write",
      prepare: (request, call) =>
        exchange.prepareExchange(
          { ...common(request, call), identity: request.identity, identityProvider: request.identityProvider },
          call.now,
          call.db,
        ),
      async handle(_request, call, prepared: PreparedExchange) {
        const { token, refreshToken } = await exchange.recordExchange(call.db, prepared);
        return create(RawTokenSchema, {
          token: token.token,
          refreshToken: refreshToken?.token ?? "",
          expiry: timestampFromDate(token.expiry),
        });
      },
    },
    exchangeRefreshToken: {
      kind: "write",
      prepare: (request, call) => exchange.prepareRefresh(common(request, call), call.now, call.db),
      async handle(_request, call, prepared: PreparedExchange) {
        const { token, refreshToken } = await exchange.recordExchange(call.db, prepared);
        return create(TokenPairSchema, { token: rawToken(token), ...(refreshToken && { refreshToken: rawToken(refreshToken) }) });
      },
    },
  });
}

/** `scope` is the deprecated spelling of one of the `scopes`. */
function common({ aud, cap, scope, scopes }: { aud: string[]; cap: string[]; scope: string; scopes: string[] }, { metadata }: Call) {
  const { authorization, remoteAddress, userAgent, clientId = "" } = metadata;
  const origin = { kind: "exchange" as const, client: clientId, remoteAddress, userAgent };
  return { bearer: bearerToken(authorization), aud, cap, scopes: scope === "" ? scopes : [...new Set([scope, ...scopes])], origin };
}

function rawToken({ token, expiry }: IssuedToken): RawToken {
  return create(RawTokenSchema, { token, expiry: timestampFromDate(expiry) });
}
