import assert from "node:assert/strict";
import { test } from "node:test";
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from "@holt/api/gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "@holt/api/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { startTransports } from "../harness/transport-server.ts";

type Question = { case: string; value: unknown };

/** Sends the requests on one stream. @returns the answers */
async function ask(port: number, questions: Question[], service: typeof ServerReflection = ServerReflection) {
  const client = createClient(service, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));
  async function* requests() {
    for (const messageRequest of questions) yield { messageRequest: messageRequest as ServerReflectionRequest["messageRequest"] };
  }
  const answers: ServerReflectionResponse[] = [];
  for await (const answer of client.serverReflectionInfo(requests())) answers.push(answer);
  return answers;
}

function namesOf(answer: ServerReflectionResponse | undefined): string[] {
  assert.ok(answer?.messageResponse.case === "listServicesResponse");
  return answer.messageResponse.value.service.map(({ name }) => name);
}

function filesOf({ messageResponse }: ServerReflectionResponse): FileDescriptorProto[] {
  assert.ok(messageResponse.case === "fileDescriptorResponse");
  return messageResponse.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

function importsFirst(files: FileDescriptorProto[]): FileDescriptorProto[] {
  const ordered = new Set<FileDescriptorProto>();
  const visit = (file: FileDescriptorProto): void => {
    for (const other of files) if (file.dependency.includes(other.name)) visit(other);
    ordered.add(file);
  };
  files.forEach(visit);
  return [...ordered];
}

const bySymbol = (value: string): Question => ({ case: "fileContainingSymbol", value });

for (const [version, service] of [
  ["v1", ServerReflection],
  ["v1alpha", ServerReflectionAlpha as unknown as typeof ServerReflection],
] as const) {
  test(`reflection ${version} lists services under all their names`, async () => {
    await using server = await startTransports({ vendor: "chainguard" });
    const [answer] = await ask(server.port, [{ case: "listServices", value: "*" }], service);
    const names = namesOf(answer);
    for (const name of [
      "platform.iam.v2.GroupsService",
      "platform.iam.v2beta1.GroupsService",
      "chainguard.platform.iam.v2.GroupsService",
      "chainguard.platform.oidc.SecurityTokenService",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
    ]) {
      assert.ok(names.includes(name), name);
    }
  });
}

test("every listed service resolves to complete and consistent files", async () => {
  await using server = await startTransports({ vendor: "chainguard" });
  const [list] = await ask(server.port, [{ case: "listServices", value: "" }]);
  for (const name of namesOf(list)) {
    const [answer] = await ask(server.port, [bySymbol(name)]);
    const files = filesOf(answer as ServerReflectionResponse);
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: importsFirst(files) }));
    assert.ok(registry.getService(name), name);
  }
});

test("methods, messages, fields and enum values can be looked up, also under an alias", async () => {
  await using server = await startTransports();
  const symbols = ["GroupsService.GetGroup", "Group", "Group.uid", "Group.ResourceLimitsEntry"].map(
    (name) => `platform.iam.v2beta1.${name}`,
  );
  for (const answer of await ask(server.port, symbols.map(bySymbol))) {
    assert.equal(filesOf(answer)[0]?.name, "platform/iam/v2beta1/groups.proto");
  }
});

test("a stream sends each file once, except the requested one", async () => {
  await using server = await startTransports();
  const [first, second] = await ask(server.port, [bySymbol("platform.iam.v2.Group"), bySymbol("platform.iam.v2.Group")]);
  assert.ok(filesOf(first as ServerReflectionResponse).length > 3);
  assert.deepEqual(
    filesOf(second as ServerReflectionResponse).map(({ name }) => name),
    ["platform/iam/v2/groups.proto"],
  );
});

test("extensions can be looked up by type and number", async () => {
  await using server = await startTransports();
  const type = "google.protobuf.MethodOptions";
  const [numbers] = await ask(server.port, [{ case: "allExtensionNumbersOfType", value: type }]);
  assert.ok(numbers?.messageResponse.case === "allExtensionNumbersResponse");
  assert.ok(numbers.messageResponse.value.extensionNumber.includes(72295728), "google.api.http");
  const [file] = await ask(server.port, [{ case: "fileContainingExtension", value: { containingType: type, extensionNumber: 72295728 } }]);
  assert.equal(filesOf(file as ServerReflectionResponse)[0]?.name, "google/api/annotations.proto");
});

test("an unknown symbol answers NOT_FOUND and the stream stays open", async () => {
  await using server = await startTransports();
  const questions = [
    bySymbol("no.such.Symbol"),
    { case: "fileByFilename", value: "no/such.proto" },
    { case: "allExtensionNumbersOfType", value: "no.such.Type" },
    { case: "fileContainingExtension", value: { containingType: "platform.iam.v2.Group", extensionNumber: 1 } },
    bySymbol("chainguard.platform.iam.v2.Group"),
  ];
  for (const { messageResponse } of await ask(server.port, questions)) {
    assert.equal(messageResponse.case, "errorResponse");
    assert.equal((messageResponse.value as { errorCode: number }).errorCode, Code.NotFound);
  }
});

test("an empty reflection request ends the stream with INVALID_ARGUMENT", async () => {
  await using server = await startTransports();
  await assert.rejects(ask(server.port, [{ case: undefined } as never]), { code: Code.InvalidArgument });
});
