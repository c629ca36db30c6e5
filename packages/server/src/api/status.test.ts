import assert from "node:assert/strict";
import { test } from "node:test";
import { createRegistry, toJson } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "@holt/api/gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "@holt/api/gen/google/rpc/status_pb.ts";
import { Code, HoltError, notFound, unavailable, unimplemented } from "../lib/errors.ts";
import { vendorProfiles } from "../lib/vendor-profile.ts";
import { statusFromError, unknownOperation } from "./status.ts";

const profile = vendorProfiles.get("");
assert.ok(profile);
const registry = createRegistry(file_google_rpc_error_details);
const statusOf = (error: HoltError, domain = "registry") =>
  toJson(StatusSchema, statusFromError(error, { ...unknownOperation(profile), domain }), { registry });

test("details are packed under the names of Google's error model, in the domain of the operation", () => {
  assert.deepEqual(statusOf(notFound("Repo", "a/b")), {
    code: 5,
    message: 'Not found: Repo "a/b"',
    details: [
      { reason: "NOT_FOUND", domain: "registry.holt.dev", "@type": "type.googleapis.com/google.rpc.ErrorInfo" },
      { resourceType: "registry.holt.dev/Repo", resourceName: "a/b", "@type": "type.googleapis.com/google.rpc.ResourceInfo" },
    ],
  });
});

test("an error without a known operation has the domain of the server", () => {
  const { details } = statusOf(new HoltError(Code.INVALID_ARGUMENT, "bad path"), "") as { details: { domain: string }[] };
  assert.equal(details[0]?.domain, "holt.dev");
});

test("errors that a client cannot act on have no details", () => {
  assert.deepEqual(statusOf(unimplemented("x")), { code: 12, message: "x is not implemented by this server" });
  assert.deepEqual(statusOf(unavailable("x")), { code: 14, message: "Unavailable: x" });
});
