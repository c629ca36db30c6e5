/** Says how the rows of SCIM's tables belong to organizations. */
import { isIn, type OrganizationTables, owned, related } from "../transfer/organization-tables.ts";

export const scimTables: OrganizationTables = {
  scim_user: owned("idp_uid"),
  scim_identity: owned("idp_uid"),
  scim_group: owned("idp_uid"),
  scim_group_member: related((organization) => isIn("group_id", organization, { table: "scim_group", column: "id", owner: "idp_uid" })),
};
