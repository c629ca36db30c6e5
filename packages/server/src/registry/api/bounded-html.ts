/**
 * Parses HTML as browsers do, within limits of nodes and depth. The algorithm repeats each open formatting element in
 * each paragraph that follows, so a small document can make a huge tree.
 */
import { type DefaultTreeAdapterMap, type DefaultTreeAdapterTypes, defaultTreeAdapter, parse } from "parse5";
import { invalidArgument } from "../../lib/errors.ts";

const MAX_NODES = 100_000;
/** Browsers have the same limit. */
const MAX_DEPTH = 512;

/** @throws INVALID_ARGUMENT on `content` above a limit */
export function parseHtml(html: string): DefaultTreeAdapterTypes.Document {
  let nodes = 0;
  let depth = 0;
  const count = <T>(node: T): T => {
    if (++nodes > MAX_NODES) throw tooMuch(`more than ${MAX_NODES} elements`);
    return node;
  };
  return parse<DefaultTreeAdapterMap>(html, {
    scriptingEnabled: false,
    treeAdapter: {
      ...defaultTreeAdapter,
      createElement: (...given) => count(defaultTreeAdapter.createElement(...given)),
      createCommentNode: (...given) => count(defaultTreeAdapter.createCommentNode(...given)),
      onItemPush() {
        if (++depth > MAX_DEPTH) throw tooMuch(`elements nested more than ${MAX_DEPTH} levels deep`);
      },
      onItemPop() {
        depth--;
      },
    },
  });
}

function tooMuch(what: string): Error {
  return invalidArgument("content", `the readme has ${what}; close each element where it ends`);
}
