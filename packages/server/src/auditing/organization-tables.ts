/** Says how the rows of the audit log belong to organizations. */
import { type OrganizationTables, stays } from "../transfer/organization-tables.ts";

const CHAINED = "entries are chained and signed by the server that wrote them; `holtd audit export` takes them along";

export const auditingTables: OrganizationTables = {
  audit_entry: stays(CHAINED),
  audit_block: stays(CHAINED),
  audit_posting: stays("an index of the entries"),
  audit_target: stays("an index of the entries"),
  audit_chain: stays(CHAINED),
  audit_checkpoint: stays(CHAINED),
};
