/** Reads what people write into the forms of local accounts. Pure. */
import { isCleanText } from "../../lib/clean-text.ts";

/** The fields by which a person sets up a way to sign in. */
export interface SetUpFields {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  /** A code of the authenticator app, or a recovery code. */
  readonly code: string;
  /** The browser's answer with a new passkey; empty for a password. */
  readonly credential: string;
}

const MAX_NAME_LENGTH = 100;
const MAX_EMAIL_LENGTH = 254;
const EMAIL = /^[^\s@"<>(),:;\\[\]]{1,64}@[^\s@"<>(),:;\\[\]]+\.[^\s@"<>(),:;\\[\]]+$/;

export function readSetUpFields(form: URLSearchParams): SetUpFields {
  const field = (name: string) => form.get(name) ?? "";
  return {
    name: field("name").trim(),
    email: field("email").trim(),
    password: field("password"),
    code: field("code").trim(),
    credential: field("credential"),
  };
}

/** @returns why the name or the address cannot be used, as a sentence; undefined if both can */
export function personFault({ name, email }: Pick<SetUpFields, "name" | "email">, needsEmail: boolean): string | undefined {
  if (name.length > MAX_NAME_LENGTH || !isCleanText(name)) return `Write a name of at most ${MAX_NAME_LENGTH} characters.`;
  if (email === "") {
    if (needsEmail) return "Write your email address: you sign in with it and the password.";
    return name === "" ? "Write your name, so that others know who you are." : undefined;
  }
  return email.length <= MAX_EMAIL_LENGTH && isCleanText(email) && EMAIL.test(email)
    ? undefined
    : "This is not an email address. Write one address, such as ann@example.com.";
}

/** Tells passkeys apart in the list. */
export function passkeyName(given: string, now: Date): string {
  const name = given.trim().slice(0, MAX_NAME_LENGTH);
  return name !== "" && isCleanText(name) ? name : `Passkey of ${now.toISOString().slice(0, 10)}`;
}
