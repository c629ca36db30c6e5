/** Says how the rows of the tables of sign-in belong to organizations. */
import { type OrganizationTables, owned, stays } from "../transfer/organization-tables.ts";

export const signInTables: OrganizationTables = {
  sign_in: stays("sign-ins that are under way"),
  headless_session: stays("sign-ins that are under way"),
  device_login: stays("sign-ins that are under way"),
  provider_login: owned("idp_uid"),
};
