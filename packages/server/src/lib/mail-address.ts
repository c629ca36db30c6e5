/** Recognizes email addresses to which mail can be sent. Pure. */

/** One address without a display name, comments, quotes or lists. */
const ADDRESS = /^[^\s@<>()[\]\\,;:"]{1,64}@[^\s@<>()[\]\\,;:"]{1,253}$/u;

export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text) && !/\p{Cc}/u.test(text);
}
