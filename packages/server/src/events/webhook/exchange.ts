/** Records what a sink answered, in a bounded size and without credentials. Pure. */

export interface RecordedHeader {
  readonly name: string;
  readonly value: string;
}

/** The address of one attempt, and the answer to it. */
export interface Exchange {
  readonly url: string;
  readonly headers: readonly RecordedHeader[];
  readonly body: string;
  readonly isTruncated: boolean;
}

export interface SinkAnswer {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The beginning of the body; one byte more than `MAX_RECORDED_BYTES` tells that it is longer. */
  readonly body: Buffer;
  /** The token of the request: a sink may echo it. */
  readonly token: string;
}

export const MAX_RECORDED_BYTES = 4096;
const MAX_HEADERS = 50;
const MAX_VALUE_CHARACTERS = 512;
export const REMOVED = "[removed]";

const CREDENTIAL_NAME = /authorization|authenticat|cookie|token|secret|password|api[-_]?key|signature/i;
// A sink chooses the text, so each pattern begins only where a word begins: it then takes time linear in the text.
/** Members of JSON and parameters of forms: their names with what separates them from the values, and the values. */
const MEMBER = /((?<![\w-])[\w-]+["']?\s{0,4}[:=]\s{0,4})("(?:[^"\\]|\\.)*"?|[^\s"&,;}]+)/g;
/** RFC 7519: three parts in base64url, of which the first is a JSON object. */
const JWT = /(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;

export function encodeExchange({ url, headers, body, token }: SinkAnswer): string {
  const clean = (text: string) => withoutCredentials(text, token).replaceAll("\0", "\uFFFD");
  const recorded: Exchange = {
    url,
    headers: headerList(headers).map(({ name, value }) => ({
      name,
      value: CREDENTIAL_NAME.test(name) ? REMOVED : clean(value.slice(0, MAX_RECORDED_BYTES)).slice(0, MAX_VALUE_CHARACTERS).toWellFormed(),
    })),
    body: clean(body.subarray(0, MAX_RECORDED_BYTES).toString("utf8")),
    isTruncated: body.length > MAX_RECORDED_BYTES,
  };
  return JSON.stringify(recorded);
}

/** Undefined if there was no answer. */
export function decodeExchange(text: string): Exchange | undefined {
  return text === "" ? undefined : (JSON.parse(text) as Exchange);
}

function headerList(headers: SinkAnswer["headers"]): RecordedHeader[] {
  return Object.entries(headers)
    .flatMap(([name, value]) => [value ?? []].flat().map((each) => ({ name, value: each })))
    .slice(0, MAX_HEADERS);
}

function withoutCredentials(text: string, token: string): string {
  const replaced = token === "" ? text : text.replaceAll(token, REMOVED);
  return replaced.replace(JWT, REMOVED).replace(MEMBER, (member: string, name: string, value: string) => {
    if (!CREDENTIAL_NAME.test(name)) return member;
    return name + (value.startsWith('"') ? `"${REMOVED}"` : REMOVED);
  });
}
