/** For files that are given to a server's Node with --import: leaves out a part of the server, to measure what it costs. */
import { registerHooks } from "node:module";

/**
 * @param file the end of the module's URL
 * @param declaration how the function's declaration begins, up to its parenthesis
 * @param replacement the whole function in its place
 */
export function replaceFunction(file: string, declaration: string, replacement: string): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(file)) return loaded;
      const source = String(loaded.source);
      if (!source.includes(declaration)) throw new Error(`${file} has no ${declaration}`);
      return { ...loaded, source: source.replace(declaration, `${replacement} ${declaration.replace(/\w+\($/, "original(")}`) };
    },
  });
}
