/** The client of Holt for every runtime with `fetch`. Sources of tokens that need files are in `@holt/client/node`. */

export type { RetryOptions } from "./backoff.ts";
export { type ClientOptions, createClient, type HoltClient } from "./client.ts";
export { type CodeName, type FieldViolation, HoltError, type Precondition } from "./errors.ts";
export type { CallRecord } from "./interceptors.ts";
export { environmentToken, githubActionsToken } from "./tokens/ci.ts";
export { type ExchangeOptions, exchangedToken, type RefreshTokenStore, refreshedToken } from "./tokens/exchange.ts";
export { createSigningKey, type NewSigningKey, type SignedTokenOptions, type SigningKey, signedToken } from "./tokens/signed.ts";
export { type CacheOptions, cached, fixedToken, type Token, type TokenSource, tokenOf } from "./tokens/token-source.ts";
export { createDeliveryVerifier, type Delivery, DeliveryRefused, type DeliveryVerifierOptions } from "./verify-delivery.ts";
