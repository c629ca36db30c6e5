/** Reads the uid and the name of a stored resource without parsing its JSON. */

/** The uid is the first field of every stored body. */
export const BODY_START = '{"uid":"';

/** Whether a text can be the body of a stored resource, as far as its first field tells. */
export function isBodyOfResource(text: string): boolean {
  return text.startsWith(BODY_START);
}

export function uidOfBody(body: string): string {
  return body.slice(BODY_START.length, body.indexOf('"', BODY_START.length));
}

/** The name is the second field of most resources. */
const NAME = ',"name":"';

export function nameOfBody(body: string): string {
  const behindUid = body.indexOf('"', BODY_START.length) + 1;
  const start = behindUid + NAME.length;
  const name = body.slice(start, body.indexOf('"', start));
  const isPlain = body.startsWith(NAME, behindUid) && !name.includes("\\");
  return isPlain ? name : (JSON.parse(body).name ?? "");
}
