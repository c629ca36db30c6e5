/** Tests the lists of libraries below a group, of their versions, and of their files. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LibraryArtifactsService } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sha256Of, upload, wheel } from "../harness/libraries/python-packages.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const { getLibraryArtifact, listLibraryArtifacts, listLibraryFiles, listLibraryVersions } = LibraryArtifactsService.method;

describeWithWorld("libraries below a group", (world) => {
  test("a library is listed below its own group only, with its versions, files and yanks", async () => {
    using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    const [group, other] = [await world.group(world.orgUid), await world.group(world.orgUid)];
    const owner = group.replaceAll("/", ":");
    const files = [wheel({ name: "listed", version: "1.0" }), wheel({ name: "listed", version: "2.0" })];
    for (const file of files) assert.equal((await upload(client, owner, file)).status, 200);
    const yank = await client.send("POST", `/libraries/python/${owner}/simple/listed/1.0/yank`, { body: "reason=slow" });
    assert.equal(yank.status, 204);

    const ecosystem = Ecosystem.PYTHON;
    const { libraryArtifacts, totalCount } = await world.must(listLibraryArtifacts, { ecosystem, uidp: { childrenOf: group } });
    assert.deepEqual([libraryArtifacts.map(({ name, latestVersion }) => [name, latestVersion]), totalCount], [[["listed", "2.0"]], 1n]);
    assert.deepEqual((await world.must(listLibraryArtifacts, { ecosystem, uidp: { childrenOf: other } })).libraryArtifacts, []);
    const java = await world.must(listLibraryArtifacts, { ecosystem: Ecosystem.JAVA, uidp: { childrenOf: group } });
    assert.deepEqual(java.libraryArtifacts, []);

    const uid = libraryArtifacts[0]?.uid ?? "";
    assert.equal((await world.must(getLibraryArtifact, { uid })).name, "listed");
    const { versions } = await world.must(listLibraryVersions, { uid });
    assert.deepEqual(
      versions.map(({ version, yankTime, yankReason }) => [version, yankTime !== undefined, yankReason]),
      [
        ["2.0", false, ""],
        ["1.0", true, "slow"],
      ],
    );
    const first = await world.must(listLibraryFiles, { uid, pageSize: 1 });
    const second = await world.must(listLibraryFiles, { uid, pageSize: 1, pageToken: first.nextPageToken });
    assert.deepEqual(
      [...first.files, ...second.files].map(({ sha256, yankReason }) => [sha256, yankReason]),
      [
        [sha256Of(files[0]?.bytes ?? ""), "slow"],
        [sha256Of(files[1]?.bytes ?? ""), ""],
      ],
    );
    assert.equal(second.nextPageToken, "");
    const { files: ofVersion } = await world.must(listLibraryFiles, { uid, version: "2.0" });
    assert.deepEqual(
      ofVersion.map(({ version }) => version),
      ["2.0"],
    );
  });
});
