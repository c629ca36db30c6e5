/** Reads the uid of a stored resource without parsing its JSON. */

/** The uid is the first field of every stored body. */
const START = '{"uid":"';

/** Whether a text can be the body of a stored resource, as far as its first field tells. */
export function isBodyOfResource(text: string): boolean {
  return text.startsWith(START);
}

export function uidOfBody(body: string): string {
  return body.slice(START.length, body.indexOf('"', START.length));
}
