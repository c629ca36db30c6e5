/** HTML templates that always escape the strings inserted into them. They do not escape the output of another template again. */
import { escapeMarkup } from "../../lib/markup.ts";

export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | undefined | readonly Html[];

export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(literals.map((literal, index) => literal + textOf(parts[index])).join(""));
}

/** Undefined becomes the empty string. */
function textOf(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  return Array.isArray(part) ? part.map(textOf).join("") : escapeMarkup(String(part));
}
