import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { VulnReportListSchema } from "@holt/api/gen/platform/registry/v1/vulnerabilities_pb.ts";
import { VulnReportSchema } from "@holt/api/gen/platform/tenant/v1/vuln_reports_pb.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { type CallMetadata, EncodedMessage } from "./call.ts";
import { encodeLongReply } from "./encode-long-reply.ts";

const metadata = (protocol: CallMetadata["protocol"]) => ({ protocol }) as CallMetadata;
const time = { seconds: 1_700_000_000n, nanos: 0 };

const messages: readonly (readonly [DescMessage, Message])[] = [
  [VulnReportListSchema, create(VulnReportListSchema)],
  [
    VulnReportListSchema,
    create(VulnReportListSchema, {
      items: [
        {},
        {
          digest: "sha256:é",
          createdAt: time,
          vulnerabilities: [
            { id: "a", cvss: [{ score: "1" }] },
            { id: "b", purls: ["x", "y"] },
          ],
        },
        {
          scanner: { version: "1" },
          vulnerabilities: Array.from({ length: 3000 }, (_, i) => ({ id: `CVE-${i}`, details: "😀".repeat(30) })),
        },
      ],
    }),
  ],
  [
    VulnReportSchema,
    create(VulnReportSchema, { id: "x", rawVulnReport: Buffer.alloc(100_000, 1), vulnerabilityMatches: [{ pkg: { id: "p" } }, {}] }),
  ],
];

test("a reply that is encoded in parts equals the message", async () => {
  for (const [schema, message] of messages) {
    const json = await encodeLongReply(schema, message, metadata("rest"));
    assert.ok(json instanceof EncodedMessage);
    assert.equal(Buffer.from(json.encoded).toString("utf8"), compileJsonEncoder(schema)(message));
    const binary = await encodeLongReply(schema, message, metadata("grpc"));
    assert.ok(binary instanceof EncodedMessage);
    assert.deepEqual(fromBinary(schema, binary.encoded), fromBinary(schema, toBinary(schema, message)));
  }
});

test("protocols that encode messages themselves get the message", async () => {
  for (const protocol of ["grpc-web", "connect"] as const) {
    const message = create(VulnReportListSchema);
    assert.equal(await encodeLongReply(VulnReportListSchema, message, metadata(protocol)), message);
  }
});
