/** The uid of the group or the object that has the object; empty for an organization and a person. */
export function parentOf(uid: string): string {
  return uid.slice(0, Math.max(0, uid.lastIndexOf("/")));
}
