/** Tests that a manifest which a client finds, and so does not push again, stays until the client has pushed its index. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { createFilesystemBlobs } from "../../src/blobs/filesystem.ts";
import { blobReferences } from "../../src/domains.ts";
import { createLog } from "../../src/lib/log.ts";
import { createCollector } from "../../src/registry/collection/gc.ts";
import { createUploads } from "../../src/registry/content/uploads.ts";
import { createRegistryClient, INDEX } from "../harness/registry/registry-client.ts";
import { describeWithWorld } from "../harness/world.ts";

const { CAP_MANIFEST_LIST, CAP_MANIFEST_CREATE, CAP_REPO_BLOBS_GET, CAP_REPO_CREATE, CAP_TAG_CREATE } = Capability;
const READ = [CAP_MANIFEST_LIST, CAP_REPO_BLOBS_GET];
const PUSH = [...READ, CAP_MANIFEST_CREATE, CAP_TAG_CREATE, CAP_REPO_CREATE];
const HOUR_MS = 3_600_000;
const NAME = "my-org/skipped";

describeWithWorld(
  "manifests that a push skips",
  (world) => {
    const log = createLog("silent");
    async function collect(): Promise<void> {
      const { store, clock, dataDir } = world;
      await using blobs = createFilesystemBlobs({ dataDir, log });
      const graceMs = 2 * HOUR_MS;
      const uploads = createUploads({ store, blobs, clock, graceMs });
      await createCollector({ store, blobs, references: blobReferences, uploads, clock, log, graceMs }).run();
    }
    /** A client of the robot with a new token. */
    const clientOf = async (uid: string) => createRegistryClient(world.baseUrl, `Bearer ${(await world.signIn(uid)).token}`);

    test("an image that a client finds before it pushes an index is not collected meanwhile", async () => {
      const [pusher, reader] = [await world.robot(world.orgUid, PUSH), await world.robot(world.orgUid, READ)];
      using early = await clientOf(pusher.uid);
      const [found, seen] = [await early.image(NAME), await early.image(NAME)];
      world.clock.advance(3 * HOUR_MS);
      using late = await clientOf(pusher.uid);
      assert.equal((await late.send("HEAD", `${NAME}/manifests/${found.digest}`)).status, 200);
      using watcher = await clientOf(reader.uid);
      assert.equal((await watcher.send("HEAD", `${NAME}/manifests/${seen.digest}`)).status, 200);
      await collect();
      await late.manifest(NAME, { schemaVersion: 2, mediaType: INDEX, manifests: [found] }, "latest");
      assert.equal((await late.send("GET", `${NAME}/manifests/${found.digest}`)).status, 200);
      assert.equal((await late.send("GET", `${NAME}/manifests/${seen.digest}`)).status, 404, "a reader keeps nothing");
      world.clock.advance(3 * HOUR_MS);
      await collect();
      using last = await clientOf(pusher.uid);
      assert.equal((await last.send("HEAD", `${NAME}/manifests/${found.digest}`)).status, 200);
    });
  },
  { env: { HOLT_GC_GRACE: "2h", HOLT_GC_INTERVAL: "0" } },
);
