/**
 * Reads the text of some elements of an XML document. Document types are refused, nothing is fetched, and Maven
 * properties stay as they are.
 */
import { decodeHTMLStrict } from "entities";
import { SaxesParser } from "saxes";

const MAX_DEPTH = 100;

export interface XmlForm<Field extends string> {
  /** The name of the outermost element. */
  readonly root: string;
  /** Paths of elements below the root, such as `parent/version`. The first element at a path counts. */
  readonly fields: readonly Field[];
  /** Makes the error for a document that cannot be used. */
  readonly refusal: (reason: string) => Error;
}

/** @throws the error that `refusal` makes */
export function readXmlFields<Field extends string>(bytes: Buffer, form: XmlForm<Field>): ReadonlyMap<Field, string> {
  return parseFields(decodeXml(bytes, form), form);
}

function decodeXml(bytes: Buffer, { refusal }: Pick<XmlForm<string>, "refusal">): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch (error) {
    throw Object.assign(refusal("the bytes do not match the declared encoding"), { cause: error });
  }
}

/** XML 1.0, appendix F: the byte order mark, else the declared encoding, else UTF-8. */
function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  const head = bytes.subarray(0, 200).toString("latin1");
  return /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(head)?.[1] ?? "utf-8";
}

/** Maven accepts the entities of HTML as well, and POMs use them for accents in names. */
const ENTITIES = new Proxy<Record<string, string>>(
  {},
  {
    get(_target, name) {
      const reference = `&${String(name)};`;
      const text = decodeHTMLStrict(reference);
      return text === reference ? undefined : text;
    },
  },
);

function parseFields<Field extends string>(text: string, { root, fields: wanted, refusal }: XmlForm<Field>): ReadonlyMap<Field, string> {
  const fields = new Map<Field, string>();
  const parser = new SaxesParser();
  parser.ENTITIES = ENTITIES;
  const path: string[] = [];
  let content = "";
  parser.on("error", (error) => {
    throw refusal(`not well-formed XML: ${error.message.slice(0, 200)}`);
  });
  parser.on("doctype", () => {
    throw refusal("document types are not allowed");
  });
  parser.on("opentag", ({ name }) => {
    if (path.length === 0 && localName(name) !== root) throw refusal(`the root element is not <${root}>`);
    if (path.length >= MAX_DEPTH) throw refusal(`elements are nested more than ${MAX_DEPTH} levels deep`);
    path.push(localName(name));
    content = "";
  });
  const append = (part: string): void => {
    content += part;
  };
  parser.on("text", append);
  parser.on("cdata", append);
  parser.on("closetag", () => {
    const field = wanted.find((each) => each === path.slice(1).join("/"));
    if (field !== undefined && !fields.has(field)) fields.set(field, content.trim());
    path.pop();
    content = "";
  });
  parser.write(text).close();
  return fields;
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
