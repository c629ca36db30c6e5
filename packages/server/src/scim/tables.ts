/** The tables of SCIM. The migrations make them; column names equal proto field names. */

declare module "../db/schema.ts" {
  interface Schema {
    scim_user: ScimUserTable;
    scim_identity: ScimIdentityTable;
    scim_group: ScimGroupTable;
    scim_group_member: ScimGroupMemberTable;
  }
}

/** An account in a company's directory. What its rows mean for rights is auth/scim-record.ts. */
export interface ScimUserTable {
  id: string;
  idp_uid: string;
  /** As the directory calls it; by this it is known again at a login. */
  external_id: string | null;
  /** In small letters: compared without regard to case. As it was given, it is in the body. */
  user_name: string;
  /** 0 for who is not let in, in particular for who was deleted. */
  active: number;
  create_time: string;
  update_time: string;
  /** Set once it is deleted: it exists no longer for the directory, but that its person has left stays known. */
  delete_time: string | null;
  version: number;
  /** The SCIM resource without id, meta and groups. */
  body: string;
}

/** Whom accounts of a directory stand for, whether it has provisioned them or not. */
export interface ScimIdentityTable {
  idp_uid: string;
  /** Of the account; at a login, what the provider's correlation rule compares with it. */
  external_id: string;
  identity_uid: string;
  /** When it first logged in through the identity provider; null where it only follows from the external id so far. */
  login_time: string | null;
}

export interface ScimGroupTable {
  id: string;
  idp_uid: string;
  external_id: string | null;
  /** In small letters. As it was given, it is in the body. */
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
