/** Decides whether a password may be chosen: by its length and by what attackers try first, not by kinds of characters. */

/** The facts about an account that its password must not repeat. */
export interface PasswordContext {
  readonly email: string;
  readonly name: string;
  /** Names of organizations that the person joins with a new account. */
  readonly organizations: readonly string[];
}

const MIN_CHARACTERS = 12;
/** The hash reads the whole password. */
const MAX_CHARACTERS = 256;
const MIN_DIFFERENT_CHARACTERS = 5;
/** Shorter words are in many good passwords. */
const MIN_WORD_CHARACTERS = 4;

/** @returns why the password is refused, as a sentence; undefined if it may be chosen */
export async function passwordFault(password: string, context: PasswordContext): Promise<string | undefined> {
  const characters = [...password];
  if (characters.length < MIN_CHARACTERS)
    return `A password has at least ${MIN_CHARACTERS} characters. A few unrelated words are easy to remember.`;
  if (characters.length > MAX_CHARACTERS) return `A password has at most ${MAX_CHARACTERS} characters.`;
  const plain = password.normalize("NFKC").toLowerCase();
  const word = wordsOf(context).find((each) => plain.includes(each));
  if (word !== undefined) return `The password contains “${word}”, which others know about you. Choose another one.`;
  if (new Set(plain).size < MIN_DIFFERENT_CHARACTERS || (await isCommon(plain)))
    return "This password is one of those that attackers try first. Choose another one.";
  return undefined;
}

function wordsOf({ email, name, organizations }: PasswordContext): string[] {
  const [local = "", domain = ""] = email.toLowerCase().split("@", 2);
  const words = [email.toLowerCase(), local, domain, domain.split(".").at(-2) ?? "", ...[name, ...organizations].flatMap(partsOf)];
  return words.filter((word) => word.length >= MIN_WORD_CHARACTERS);
}

function partsOf(text: string): string[] {
  const lower = text.toLowerCase();
  return [lower, ...lower.split(/[^\p{L}\p{N}]+/u)];
}

let common: Promise<ReadonlySet<string>> | undefined;

/** Also a common password that is repeated, or surrounded by digits and signs. */
async function isCommon(plain: string): Promise<boolean> {
  common ??= loadCommon();
  const words = await common;
  const core = plain.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "");
  const repeated = /^(.+?)\1+$/u.exec(plain)?.[1];
  return [plain, core, repeated ?? plain].some((each) => words.has(each) || each === "");
}

/** Loaded with the first password that somebody chooses: 49,000 passwords, most common first. */
async function loadCommon(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set<string>(dictionary["passwords-common"] as readonly string[]);
}
