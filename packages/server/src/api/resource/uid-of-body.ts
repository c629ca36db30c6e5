/** Reads the uid of a stored resource without parsing its JSON. */

/** The uid is the first field of every stored body. */
export function uidOfBody(body: string): string {
  const start = '{"uid":"'.length;
  return body.slice(start, body.indexOf('"', start));
}
