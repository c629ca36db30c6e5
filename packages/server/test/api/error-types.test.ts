/** Tests that the types of error details belong to the version and the vendor's names that the client called. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import type { ServiceError } from "@grpc/grpc-js";
import { StatusSchema } from "@holt/api/gen/google/rpc/status_pb.ts";
import { TermsNotAcceptedDetailSchema } from "@holt/api/gen/platform/iam/v1/terms_pb.ts";
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { termsNotAccepted } from "../../src/lib/errors.ts";
import { GrpcClient } from "../harness/raw-clients.ts";
import { startTransports } from "../harness/transport-server.ts";

const missing = [{ id: "tos.v1", label: "Terms", url: "https://example.com/tos" }];
const run = () => Promise.reject(termsNotAccepted(missing));
const createV1 = Registry.method.createRepo;
const createV2 = ReposService.method.createRepo;

const cases = [
  ["", createV1, "platform.registry.v1.Registry", "platform.iam.v1.TermsNotAcceptedDetail"],
  ["", createV2, "platform.registry.v2.ReposService", "platform.iam.v2.TermsNotAcceptedDetail"],
  ["", createV2, "platform.registry.v2beta1.ReposService", "platform.iam.v2beta1.TermsNotAcceptedDetail"],
  ["chainguard", createV1, "chainguard.platform.registry.Registry", "chainguard.platform.iam.TermsNotAcceptedDetail"],
  ["chainguard", createV2, "chainguard.platform.registry.v2.ReposService", "chainguard.platform.iam.v2.TermsNotAcceptedDetail"],
  ["chainguard", createV2, "chainguard.platform.registry.v2beta1.ReposService", "chainguard.platform.iam.v2beta1.TermsNotAcceptedDetail"],
] as const;

for (const [vendor, method, service, type] of cases) {
  test(`a gRPC call of ${service}, with ${vendor || "neutral"} names, gets an error detail of the type ${type}`, async () => {
    await using server = await startTransports({ vendor, run });
    using client = new GrpcClient(server.port);
    const error = await client.call(method as typeof createV2, {}, { service }).then(
      () => assert.fail("the call was not refused"),
      (reason: ServiceError) => reason,
    );
    const [packed] = error.metadata.get("grpc-status-details-bin");
    const { details } = fromBinary(StatusSchema, packed as Buffer);
    const terms = details.filter(({ typeUrl }) => typeUrl.endsWith("TermsNotAcceptedDetail"));
    assert.deepEqual(
      terms.map(({ typeUrl }) => typeUrl),
      [`type.googleapis.com/${type}`],
    );
    const decoded = fromBinary(TermsNotAcceptedDetailSchema, terms[0]?.value ?? new Uint8Array());
    assert.deepEqual(
      decoded.missing.map(({ id, label, url }) => ({ id, label, url })),
      missing,
    );
  });
}

test("a Connect call of version 1 gets an error detail of version 1", async () => {
  await using server = await startTransports({ run });
  const client = createClient(Registry, createConnectTransport({ baseUrl: `http://127.0.0.1:${server.port}`, httpVersion: "1.1" }));
  const error = await client.createRepo({}).then(
    () => assert.fail("the call was not refused"),
    (reason: unknown) => ConnectError.from(reason),
  );
  assert.equal(error.code, Code.FailedPrecondition);
  assert.deepEqual(error.findDetails(TermsNotAcceptedDetailSchema)[0]?.missing[0]?.id, "tos.v1");
});
