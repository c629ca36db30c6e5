/** Tests what reviewers see of the feeds before an approval. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AdvisoryPreviewsService } from "@holt/api/gen/holt/v1/advisory_previews_pb.ts";
import { ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { fixed, putAdvisories } from "../harness/advisories/advisories.ts";
import { describeWithWorld } from "../harness/world.ts";

const { previewAdvisory } = AdvisoryPreviewsService.method;

describeWithWorld("previews of advisories", (world) => {
  test("a preview shows the feeds' entries with the named events approved, and changes nothing", async () => {
    const parent = await world.group(world.orgUid);
    const pending = fixed("2026-01-03T00:00:00.000Z", "2.0-r0", ReviewStatus.PENDING);
    const [uid = ""] = await putAdvisories(world.store, [{ parent, id: "CGA-2345-cfgh-jmpq", events: [pending] }]);
    const { events } = await world.must(AdvisoriesService.method.getAdvisory, { uid });
    const eventUids = events.map((event) => event.uid);
    for (let i = 0; i < 2; i++) {
      const { entries } = await world.must(previewAdvisory, { uid, eventUids });
      assert.deepEqual(
        entries.map(({ format, current, approved }) => [format, current, approved.includes("2.0-r0")]),
        ["osv", "openvex", "csaf", "secdb"].map((format) => [format, "", true]),
      );
    }
    const { entries } = await world.must(previewAdvisory, { uid, eventUids: [] });
    assert.deepEqual(
      entries.map(({ approved }) => approved),
      ["", "", "", ""],
    );
  });

  test("an entry contains the approved advisories that the feed merges into it", async () => {
    const parent = await world.group(world.orgUid);
    const id = "CGA-2345-cfgh-jmpr";
    const published = fixed("2026-01-02T00:00:00.000Z", "1.0-r0");
    const pending = fixed("2026-01-03T00:00:00.000Z", "2.0-r0", ReviewStatus.PENDING);
    const [, uid = ""] = await putAdvisories(world.store, [
      { parent, id, architecture: "x86_64", events: [published] },
      { parent, id, architecture: "aarch64", events: [pending] },
    ]);
    const { events } = await world.must(AdvisoriesService.method.getAdvisory, { uid });
    const { entries } = await world.must(previewAdvisory, { uid, eventUids: [events[0]?.uid ?? ""] });
    const osv = entries.find(({ format }) => format === "osv");
    const versions = (text = "") => [...text.matchAll(/"fixed":"([^"]*)"/g)].map(([, version]) => version).sort();
    assert.deepEqual([versions(osv?.current), versions(osv?.approved)], [["1.0-r0"], ["1.0-r0", "2.0-r0"]]);
  });
});
