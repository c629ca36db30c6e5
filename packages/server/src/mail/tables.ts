/** Declares the table of mails. */

declare module "../db/schema.ts" {
  interface Schema {
    mail: MailTable;
  }
}

/** A mail that waits to be sent. Once it was sent or given up, the row only counts for the limits. */
export interface MailTable {
  uid: string;
  /** The organization that caused the mail; empty for none. */
  org_uid: string;
  /** Keyed hash of the address; also of the purpose, if its mails count apart. */
  recipient_hash: string;
  /** JSON: the `Mail`, sealed. Null once it was sent or given up. */
  content: string | null;
  attempts: number;
  /** Null once it was sent or given up. */
  next_attempt_time: string | null;
  create_time: string;
  /** The mail is not sent after that. */
  expire_time: string;
  lease_holder: string | null;
  lease_time: string | null;
}
