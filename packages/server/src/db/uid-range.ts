/** Compares columns of uids in SQL. A uid below a group begins with the group's uid and a slash. */
import { type RawBuilder, sql } from "kysely";

/**
 * Whether the uid in one column is below the uid in another column, as a range that an index serves.
 * @param column qualified names of columns, such as `role_binding.uid`
 */
export function isBelowColumn(column: string, ancestor: string): RawBuilder<boolean> {
  const uid = sql.ref(column);
  const above = sql.ref(ancestor);
  // "0" follows "/" in ASCII.
  return sql<boolean>`${uid} >= ${above} || '/' and ${uid} < ${above} || '0'`;
}
