/** Declares the tables of SCIM. Column names equal proto field names. */

declare module "../db/schema.ts" {
  interface Schema {
    scim_user: ScimUserTable;
    scim_identity: ScimIdentityTable;
    scim_group: ScimGroupTable;
    scim_group_member: ScimGroupMemberTable;
  }
}

/** An account in a company's directory. How it affects rights is in iam/identities/scim-record.ts. */
export interface ScimUserTable {
  id: string;
  idp_uid: string;
  /** The directory's key of the account; logins are matched by it. */
  external_id: string | null;
  /** Lower case, since it is compared without regard to case. The body has the original spelling. */
  user_name: string;
  /** 0 if the person may not log in. Deleted users are always inactive. */
  active: number;
  create_time: string;
  update_time: string;
  /** Set once the directory deleted the user. The row stays hidden, to remember that the person has left. */
  delete_time: string | null;
  version: number;
  /** The SCIM resource without id, meta and groups. */
  body: string;
}

/** Identities that belong to the accounts of a directory, including accounts that are not provisioned. */
export interface ScimIdentityTable {
  idp_uid: string;
  /** External id of the account. At a login, the value that the provider's correlation rule compares. */
  external_id: string;
  identity_uid: string;
  /** When the identity first logged in through the provider; null if it is only derived from the external id so far. */
  login_time: string | null;
}

export interface ScimGroupTable {
  id: string;
  idp_uid: string;
  external_id: string | null;
  /** Lower case. The body has the original spelling. */
  display_name: string;
  create_time: string;
  update_time: string;
  version: number;
  /** The SCIM resource without id, meta and members. */
  body: string;
}

export interface ScimGroupMemberTable {
  group_id: string;
  user_id: string;
}
