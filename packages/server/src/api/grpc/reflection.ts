/** gRPC server reflection, v1 and v1alpha, for all names of the served services. */
import type { DescService } from "@bufbuild/protobuf";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "@holt/api/gen/google/rpc/error_details_pb.ts";
import { Health } from "@holt/api/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection, type ServerReflectionRequest } from "@holt/api/gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "@holt/api/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { ServiceName } from "./aliases.ts";
import { DescriptorIndex, filesBelow } from "./descriptor-index.ts";
import { renamePackage } from "./rename-package.ts";

/** Services outside of the contract, served under their own names only. */
const ownServices: readonly DescService[] = [Health, ServerReflection, ServerReflectionAlpha];

export function reflectionRoutes(router: ConnectRouter, names: readonly ServiceName[]): void {
  const listed = [...names.map(({ name }) => name), ...ownServices.map(({ typeName }) => typeName)].sort();
  // Few servers are asked, and the index costs a fifth of a start.
  let index: DescriptorIndex | undefined;
  // The messages of v1 and v1alpha differ only in their type names, which matter only to the compiler.
  async function* reflect(requests: AsyncIterable<Pick<ServerReflectionRequest, "host" | "messageRequest">>) {
    const sent = new Set<string>();
    index ??= createIndex(names);
    for await (const { host, messageRequest } of requests) {
      yield { validHost: host, originalRequest: { host, messageRequest }, messageResponse: answer(messageRequest, index, listed, sent) };
    }
  }
  router.service(ServerReflection, { serverReflectionInfo: reflect });
  router.service(ServerReflectionAlpha, { serverReflectionInfo: reflect as never });
}

function createIndex(names: readonly ServiceName[]): DescriptorIndex {
  const index = new DescriptorIndex();
  // No file imports the details of errors, but clients ask for them to show an error.
  const roots = [file_google_rpc_error_details, ...[...ownServices, ...names.map(({ service }) => service)].map(({ file }) => file)];
  const files = [...filesBelow(roots)].map((file) => file.proto);
  for (const file of files) index.add(file);
  for (const { name, service } of names) {
    const from = service.file.proto.package;
    const to = name.slice(0, name.lastIndexOf("."));
    const inPackage = files.filter((file) => file.package === from);
    const renaming = { from, to, files: new Set(inPackage.map((file) => file.name)) };
    if (to !== from) for (const file of inPackage) index.add(renamePackage(file, renaming));
  }
  return index;
}

function answer(
  { case: asked, value }: ServerReflectionRequest["messageRequest"],
  index: DescriptorIndex,
  listed: readonly string[],
  sent: Set<string>,
) {
  switch (asked) {
    case "listServices":
      return { case: "listServicesResponse" as const, value: { service: listed.map((name) => ({ name })) } };
    case "fileByFilename":
      return fileAnswer(index.byName(value), index, sent, `file "${value}"`);
    case "fileContainingSymbol":
      return fileAnswer(index.bySymbol(value), index, sent, `symbol "${value}"`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = value;
      return fileAnswer(
        index.byExtension(containingType, extensionNumber),
        index,
        sent,
        `extension ${extensionNumber} of "${containingType}"`,
      );
    }
    case "allExtensionNumbersOfType": {
      const extensionNumber = index.extensionNumbers(value);
      if (extensionNumber === undefined) return notFound(`type "${value}"`);
      return { case: "allExtensionNumbersResponse" as const, value: { baseTypeName: value, extensionNumber } };
    }
    default:
      throw new ConnectError("The reflection request is empty", Code.InvalidArgument);
  }
}

function fileAnswer(file: FileDescriptorProto | undefined, index: DescriptorIndex, sent: Set<string>, what: string) {
  if (file === undefined) return notFound(what);
  return { case: "fileDescriptorResponse" as const, value: { fileDescriptorProto: index.withImports(file, sent) } };
}

/** An answer that does not end the stream, so that the client can continue. */
function notFound(what: string) {
  return { case: "errorResponse" as const, value: { errorCode: Code.NotFound, errorMessage: `There is no ${what}` } };
}
