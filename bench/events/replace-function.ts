/**
 * Replaces a function of the server while Node loads it, to measure the cost of the original. Used by modules that are
 * loaded with --import.
 */
import { registerHooks } from "node:module";

/**
 * @param file the last part of the module's URL
 * @param declaration the start of the function's declaration, up to and including its parenthesis
 * @param replacement the complete function that replaces it
 */
export function replaceFunction(file: string, declaration: string, replacement: string): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(file)) return loaded;
      const source = String(loaded.source);
      if (!source.includes(declaration)) throw new Error(`${file} does not contain ${declaration}`);
      return { ...loaded, source: source.replace(declaration, `${replacement} ${declaration.replace(/\w+\($/, "original(")}`) };
    },
  });
}
