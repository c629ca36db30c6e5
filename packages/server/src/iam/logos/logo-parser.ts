/** The parser of logos, without the library for SVG, which only its thread loads. */
import { defineParser } from "../../jobs/parsers.ts";

export interface Logo {
  readonly type: "image/png" | "image/svg+xml";
  readonly bytes: Uint8Array;
}

export const MAX_LOGO_BYTES = 64 * 1024;

export const logoParser = defineParser<Uint8Array, Logo>({
  module: new URL("./logo.ts", import.meta.url),
  name: "parseLogo",
  pool: "documents",
  cpuMs: () => 1000,
  field: "logo",
  content: "the logo",
});
