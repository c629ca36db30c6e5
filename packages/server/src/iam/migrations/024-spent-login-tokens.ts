/** Login tokens that have been exchanged, so that none can be exchanged twice. */
import type { Migration } from "../../db/migrate.ts";

export const spentLoginTokens: Migration = {
  version: 24,
  name: "spent-login-tokens",
  statements: ({ types: { text } }) => [
    `create table spent_login_token (token_hash ${text} not null primary key, expire_time ${text} not null)`,
    "create index spent_login_token_by_expire_time on spent_login_token (expire_time)",
  ],
};
