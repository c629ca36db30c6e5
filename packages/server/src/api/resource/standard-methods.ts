/** The five standard methods (AIP-131 to 135) of a resource, as handlers. What a service writes itself takes their place. */
import { create as createMessage, type DescMessage, type DescService, type Message, type MessageShape } from "@bufbuild/protobuf";
import { type Empty, EmptySchema } from "@bufbuild/protobuf/wkt";
import type { Call, WriteCall } from "../call/call.ts";
import { type Handlers, read, write } from "../call/implement.ts";
import type { Resource } from "./define.ts";
import { type Mask, writableFields } from "./field-mask.ts";
import { getBody } from "./get.ts";
import { type ListRequest, listPage, listResponse } from "./list.ts";
import type { PageTokens } from "./page-token.ts";
import { create, prepareUpdate, remove, save } from "./write.ts";

/** Those of Get, List, Create, Update and Delete that the service has. */
export function standardMethods<S extends DescService, Desc extends DescMessage>(
  service: S,
  resource: Resource<Desc>,
  tokens: PageTokens,
): Handlers<S> {
  const { kind } = resource;
  const field = kind.charAt(0).toLowerCase() + kind.slice(1);
  const handlers: Record<string, unknown> = {};
  for (const method of service.methods) {
    const handler = standardMethod(method.name, method.output, resource, field, tokens);
    if (handler !== undefined) handlers[method.localName] = handler;
  }
  return handlers as Handlers<S>;
}

function standardMethod<Desc extends DescMessage>(
  name: string,
  output: DescMessage,
  resource: Resource<Desc>,
  field: string,
  tokens: PageTokens,
): unknown {
  const { kind } = resource;
  const bodyOf = (request: Message) => (request as unknown as Record<string, unknown>)[field] as MessageShape<Desc>;
  switch (name) {
    case `Get${kind}`:
      return read((request: Message, call: Call) => getBody(resource, (request as unknown as { uid: string }).uid, call.db));
    case `Create${kind}`:
      return write((request: Message, call: WriteCall) =>
        create(resource, (request as unknown as { parent: string }).parent, writableFields(resource.schema, bodyOf(request)), call),
      );
    case `Update${kind}`:
      return write(async (request: Message, call: WriteCall) => {
        const { updateMask } = request as unknown as { updateMask?: Mask };
        return save(resource, await prepareUpdate(resource, bodyOf(request), updateMask, call.db), call);
      });
    case `Delete${kind}`:
      return write((request: Message, call: WriteCall) => deleteByUid(resource, request, call));
    default:
      return name.startsWith("List") && output.fields[0]?.message === resource.schema
        ? read(async (request: Message, call: Call) =>
            listResponse(output, await listPage(resource, request as unknown as ListRequest, call, tokens)),
          )
        : undefined;
  }
}

async function deleteByUid(resource: Resource, request: Message, call: WriteCall): Promise<Empty> {
  await remove(resource, (request as unknown as { uid: string }).uid, call.db);
  return createMessage(EmptySchema);
}
