/** The text of some elements of an XML document. No document type, so no entities of its own; nothing is fetched, and properties are not filled in. */
import { decodeHTMLStrict } from "entities";
import { SaxesParser } from "saxes";

const MAX_DEPTH = 100;

export interface XmlForm<Field extends string> {
  /** Name of the outermost element. */
  readonly root: string;
  /** Elements by their path from the root: `parent/version`. Of several at one path the first counts. */
  readonly fields: readonly Field[];
  /** What is wrong with the document. */
  readonly refused: (what: string) => Error;
}

/** @throws what `refused` makes of it */
export function readXmlFields<Field extends string>(bytes: Buffer, form: XmlForm<Field>): ReadonlyMap<Field, string> {
  return fieldsOf(textOf(bytes, form), form);
}

function textOf(bytes: Buffer, { refused }: Pick<XmlForm<string>, "refused">): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch (error) {
    throw Object.assign(refused("it is not in the encoding that it says"), { cause: error });
  }
}

/** XML 1.0, appendix F: the byte order mark, else what the declaration says, else UTF-8. */
function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  const head = bytes.subarray(0, 200).toString("latin1");
  return /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(head)?.[1] ?? "utf-8";
}

/** Maven knows those of HTML, too, and POMs of people with accents in their names have them. */
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

function fieldsOf<Field extends string>(text: string, { root, fields: wanted, refused }: XmlForm<Field>): ReadonlyMap<Field, string> {
  const fields = new Map<Field, string>();
  const parser = new SaxesParser();
  parser.ENTITIES = ENTITIES;
  const path: string[] = [];
  let content = "";
  parser.on("error", (error) => {
    throw refused(`it is no XML: ${error.message.slice(0, 200)}`);
  });
  parser.on("doctype", () => {
    throw refused("it has a document type, which is not allowed here");
  });
  parser.on("opentag", ({ name }) => {
    if (path.length === 0 && localName(name) !== root) throw refused(`its root is not <${root}>`);
    if (path.length >= MAX_DEPTH) throw refused(`its elements are nested more than ${MAX_DEPTH} deep`);
    path.push(localName(name));
    content = "";
  });
  const take = (part: string): void => {
    content += part;
  };
  parser.on("text", take);
  parser.on("cdata", take);
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
