/** Parses untrusted YAML into plain values. The only place that knows the library. */
import { parseAllDocuments, type Tags } from "yaml";

/** A document, or the reason why it cannot be read. */
export type YamlDocument =
  | { readonly value: unknown }
  /** `line` is 0 if the library does not say. */
  | { readonly line: number; readonly reason: string };

/** Aliases that are resolved: each can stand for a large document. */
const MAX_ALIASES = 100;

const OPTIONS = {
  // Checking for duplicate keys takes quadratic time.
  uniqueKeys: false,
  logLevel: "silent",
  // The version 1.10 must not become the number 1.1.
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === "string" || !/:(?:int|float)$/.test(tag.tag)),
} as const;

/**
 * Numbers stay strings. The caller limits the length.
 *
 * @param options `uniqueKeys` refuses duplicate keys, for texts of the operator
 */
export function* parseYaml(text: string, options: { readonly uniqueKeys?: boolean } = {}): Generator<YamlDocument> {
  try {
    for (const document of parseAllDocuments(text, { ...OPTIONS, ...options })) {
      const [error] = document.errors;
      if (error === undefined) yield { value: document.toJS({ maxAliasCount: MAX_ALIASES }) };
      else yield { line: error.linePos?.[0].line ?? 0, reason: `not valid YAML: ${firstLineOf(error.message)}` };
    }
  } catch (error) {
    // Too many aliases, or nesting deeper than the stack.
    yield { line: 0, reason: `YAML cannot be read: ${firstLineOf((error as Error).message)}` };
  }
}

function firstLineOf(message: string): string {
  return message.split("\n", 1)[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? "";
}
