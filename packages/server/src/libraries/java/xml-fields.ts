/**
 * Reads the text of some elements of an XML document. Document types are refused, nothing is fetched, and Maven
 * properties stay as they are.
 */
import { decodeHTMLStrict } from "entities";
import { SaxesParser } from "saxes";

const MAX_DEPTH = 100;
/** Three times as many as fit into the largest real descriptor. */
const MAX_ELEMENTS = 300_000;
const MAX_ATTRIBUTES = 1000;

export interface XmlForm<Field extends string> {
  /** The name of the outermost element. */
  readonly root: string;
  /** Paths of elements below the root, such as `parent/version`. The first element at a path counts. */
  readonly fields: readonly Field[];
  /** Makes the error for a document that cannot be used. */
  readonly refusal: (reason: string) => Error;
}

/** @throws the error that `refusal` makes */
export function readXmlFields<Field extends string>(bytes: Uint8Array, form: XmlForm<Field>): ReadonlyMap<Field, string> {
  return parseFields(decodeXml(bytes, form), form);
}

function decodeXml(bytes: Uint8Array, { refusal }: Pick<XmlForm<string>, "refusal">): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch (error) {
    throw Object.assign(refusal("the bytes do not match the declared encoding"), { cause: error });
  }
}

/** XML 1.0, appendix F: the byte order mark, else the declared encoding, else UTF-8. */
function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  const head = Buffer.from(bytes.subarray(0, 200)).toString("latin1");
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

function parseFields<Field extends string>(text: string, { root, fields, refusal }: XmlForm<Field>): ReadonlyMap<Field, string> {
  const reader = new FieldReader(root, fields, refusal);
  const parser = new SaxesParser();
  parser.ENTITIES = ENTITIES;
  parser.on("error", (error) => {
    throw refusal(`not well-formed XML: ${error.message.slice(0, 200)}`);
  });
  parser.on("doctype", () => {
    throw refusal("document types are not allowed");
  });
  parser.on("opentagstart", ({ name }) => reader.open(localName(name)));
  parser.on("attribute", () => reader.addAttribute());
  parser.on("text", (part) => reader.append(part));
  parser.on("cdata", (part) => reader.append(part));
  parser.on("closetag", () => reader.close());
  parser.write(text).close();
  return reader.found;
}

/** The paths that are wanted, as a tree of names. */
interface Place<Field> {
  field: Field | undefined;
  readonly children: Map<string, Place<Field>>;
}

function placesOf<Field extends string>(fields: readonly Field[]): Place<Field> {
  const root: Place<Field> = { field: undefined, children: new Map() };
  for (const field of fields) {
    let place = root;
    for (const name of field.split("/")) {
      const child: Place<Field> = place.children.get(name) ?? { field: undefined, children: new Map() };
      place.children.set(name, child);
      place = child;
    }
    place.field = field;
  }
  return root;
}

/** Follows the elements of a document in time that does not depend on their depth or on the number of wanted paths. */
class FieldReader<Field extends string> {
  readonly found = new Map<Field, string>();
  readonly #root: string;
  readonly #places: Place<Field>;
  readonly #refusal: (reason: string) => Error;
  /** For each open element: its place, if a wanted path leads through it. */
  readonly #open: (Place<Field> | undefined)[] = [];
  /** The text since the last tag, where it is wanted. */
  #text: string[] = [];
  #attributes = 0;
  #elements = 0;

  constructor(root: string, fields: readonly Field[], refusal: (reason: string) => Error) {
    this.#root = root;
    this.#places = placesOf(fields);
    this.#refusal = refusal;
  }

  open(name: string): void {
    const depth = this.#open.length;
    if (depth === 0 && name !== this.#root) throw this.#refusal(`the root element is not <${this.#root}>`);
    if (depth >= MAX_DEPTH) throw this.#refusal(`elements are nested more than ${MAX_DEPTH} levels deep`);
    if (++this.#elements > MAX_ELEMENTS) throw this.#refusal(`it has more than ${MAX_ELEMENTS} elements`);
    this.#open.push(depth === 0 ? this.#places : this.#open.at(-1)?.children.get(name));
    this.#text = [];
    this.#attributes = 0;
  }

  addAttribute(): void {
    if (++this.#attributes > MAX_ATTRIBUTES) throw this.#refusal(`an element has more than ${MAX_ATTRIBUTES} attributes`);
  }

  append(part: string): void {
    const field = this.#open.at(-1)?.field;
    if (field !== undefined && !this.found.has(field)) this.#text.push(part);
  }

  close(): void {
    const field = this.#open.pop()?.field;
    if (field !== undefined && !this.found.has(field)) this.found.set(field, this.#text.join("").trim());
    this.#text = [];
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
