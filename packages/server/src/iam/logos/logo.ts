/**
 * Checks the logos that organizations upload for the pages of sign-in. Pages show a logo as an image, never inline, and
 * its own address serves it without scripts.
 */
import { SaxesParser } from "saxes";
import { invalidArgument } from "../../lib/errors.ts";
import { type Logo, MAX_LOGO_BYTES } from "./logo-parser.ts";

const MAX_PIXELS = 2048;
const MAX_ELEMENTS = 2000;
const MAX_DEPTH = 64;
/** Nested references double the drawing with each level, so few of them keep browsers responsive. */
const MAX_REFERENCES = 20;
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Elements that draw, and nothing that runs, loads or embeds. */
const ELEMENTS: ReadonlySet<string> = new Set(
  (
    "svg g defs title desc metadata path rect circle ellipse line polyline polygon text tspan use symbol clipPath mask " +
    "linearGradient radialGradient stop pattern filter feGaussianBlur feOffset feBlend feColorMatrix feFlood feComposite feMerge feMergeNode"
  ).split(" "),
);

/** @throws INVALID_ARGUMENT */
export function parseLogo(input: Uint8Array): Logo {
  const bytes = Buffer.from(input);
  if (bytes.length > MAX_LOGO_BYTES) throw refused(`must have at most ${MAX_LOGO_BYTES} bytes`);
  if (bytes.subarray(0, 8).equals(PNG_SIGNATURE)) {
    assertPng(bytes);
    return { type: "image/png", bytes };
  }
  assertSvg(bytes.toString("utf8"));
  return { type: "image/svg+xml", bytes };
}

/** PNG (third edition) §11.2.1: the first chunk has the size. */
function assertPng(bytes: Buffer): void {
  const hasHeader = bytes.length >= 33 && bytes.toString("latin1", 12, 16) === "IHDR";
  const [width, height] = hasHeader ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)] : [0, 0];
  if (width < 1 || height < 1 || width > MAX_PIXELS || height > MAX_PIXELS)
    throw refused(`must be a PNG image of at most ${MAX_PIXELS} × ${MAX_PIXELS} pixels`);
}

function assertSvg(text: string): void {
  const parser = new SaxesParser({ xmlns: false });
  let elements = 0;
  let depth = 0;
  let references = 0;
  parser.on("error", () => {
    throw refused("must be a PNG or SVG image");
  });
  parser.on("doctype", () => {
    throw refused("must be an SVG image without a document type");
  });
  parser.on("processinginstruction", () => {
    throw refused("must be an SVG image without processing instructions");
  });
  parser.on("opentag", ({ name, attributes }) => {
    elements++;
    depth++;
    if (elements === 1 && name !== "svg") throw refused("must be a PNG or SVG image");
    if (elements > MAX_ELEMENTS || depth > MAX_DEPTH)
      throw refused(`must be an SVG image of at most ${MAX_ELEMENTS} elements, nested at most ${MAX_DEPTH} deep`);
    if (name === "use" && ++references > MAX_REFERENCES) throw refused(`must be an SVG image with at most ${MAX_REFERENCES} elements use`);
    if (!ELEMENTS.has(name)) throw refused(`must be an SVG image without the element ${name.slice(0, 40)}`);
    for (const [attribute, value] of Object.entries(attributes)) assertAttribute(attribute, String(value));
  });
  parser.on("closetag", () => void depth--);
  parser.write(text).close();
  if (elements === 0) throw refused("must be a PNG or SVG image");
}

/** References lead to the same image only. */
function assertAttribute(name: string, value: string): void {
  const isHandler = /^on/i.test(name);
  const isReference = /(?:^|:)href$|^src$/i.test(name) && !value.startsWith("#");
  const isOutside = /url\(\s*["']?(?!#)/i.test(value) || /@import|javascript:|expression\(/i.test(value);
  if (isHandler || isReference || (isOutside && !name.startsWith("xmlns")))
    throw refused(`must be an SVG image without scripts and references to other addresses; see the attribute ${name.slice(0, 40)}`);
}

function refused(what: string): Error {
  return invalidArgument("logo", `logo ${what}`);
}
