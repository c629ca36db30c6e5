/** Walks through all pages of a list. */
import type { DescMethodUnary, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

/** The only repeated field of the answer holds the items (AIP-132). */
type ItemOf<Answer> = { [K in keyof Answer]-?: Answer[K] extends readonly (infer Item)[] ? Item : never }[Exclude<
  keyof Answer,
  "$typeName" | "$unknown"
>];

/** `listRepos` of the resource `repos`, if its answers have pages. */
type ListMethodOf<S extends DescService, Resource extends string> = S["method"][`list${Capitalize<Resource>}`] extends infer M extends
  DescMethodUnary
  ? MessageShape<M["output"]> extends { nextPageToken: string }
    ? M
    : never
  : never;

/** `listAll`, for resources whose list has pages. */
export type ListAll<S extends DescService, Resource extends string> = [ListMethodOf<S, Resource>] extends [never]
  ? unknown
  : {
      /** Every item of the list, page after page. `break` ends it without reading on. */
      listAll(
        request?: MessageInitShape<ListMethodOf<S, Resource>["input"]>,
        options?: CallOptions,
      ): AsyncIterable<ItemOf<MessageShape<ListMethodOf<S, Resource>["output"]>>>;
    };

interface Paged {
  readonly nextPageToken: string;
}

type List = (request: object, options?: CallOptions) => Promise<Paged>;

/** @returns undefined if the resource has no list with pages */
export function findListMethod(service: DescService, resource: string): DescMethodUnary | undefined {
  const method = service.method[`list${resource.charAt(0).toUpperCase()}${resource.slice(1)}`];
  return method?.output.fields.some(({ name }) => name === "next_page_token") ? (method as DescMethodUnary) : undefined;
}

/** @param list calls the method */
export function walkPages(method: DescMethodUnary, list: List) {
  const items = method.output.fields.find(({ fieldKind }) => fieldKind === "list")?.localName ?? "";
  return async function* (request: object = {}, options?: CallOptions): AsyncGenerator<unknown> {
    for (let pageToken: string | undefined; pageToken !== ""; ) {
      const page = await list(pageToken === undefined ? request : { ...request, pageToken }, options);
      yield* (page as unknown as Record<string, Iterable<unknown>>)[items] ?? [];
      pageToken = page.nextPageToken;
    }
  };
}
