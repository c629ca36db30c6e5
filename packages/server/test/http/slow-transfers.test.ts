/** Transfers of content to and from slow clients hold slots of their caller, and none of the process. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import type { ClientRequest, IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { createMavenClient, folderOf, pomOf } from "../harness/libraries/maven-client.ts";
import { createImageRepo, type ImageRepo } from "../harness/registry/image-world.ts";
import { basic } from "../harness/registry/registry-client.ts";
import { askAndStop, type UnreadAnswer } from "../harness/slow-clients.ts";
import { until } from "../harness/wait.ts";
import { type Caller, startWorld, type World } from "../harness/world.ts";

/** Slots of the process, and transfers of one caller. Both callers together have more transfers than the process has slots. */
const CALLS = 3;
const TRANSFERS = 2;
/** More than the buffers of a connection hold. */
const CONTENT = Buffer.alloc(32 * 1024 * 1024);
const LIB = { groupId: "com.example", artifactId: "lib", version: "1.0" };

describe("while slow clients have more transfers under way than the process has slots", () => {
  let world: World;
  let repo: ImageRepo;
  let robot: Caller;
  let blob: string;
  let file: string;
  before(async () => {
    world = await startWorld({
      env: { HOLT_MAX_CONCURRENT_CALLS: String(CALLS), HOLT_MAX_TRANSFERS_PER_CALLER: String(TRANSFERS) },
    });
    repo = await createImageRepo(world);
    robot = await world.robot(world.orgUid, [Capability.CAP_REPO_BLOBS_GET, Capability.CAP_LIBRARIES_JAVA_LIST]);
    blob = `/v2/${repo.name}/blobs/${(await repo.client.blob(repo.name, CONTENT)).digest}`;
    const maven = createMavenClient(repo.client, "/libraries/java/my-org");
    const folder = folderOf(LIB);
    assert.equal((await maven.put(`${folder}/lib-1.0.pom`, pomOf(LIB))).status, 201);
    assert.equal((await maven.put(`${folder}/lib-1.0-sources.tar.gz`, CONTENT)).status, 201);
    file = `/libraries/java/my-org/${folder}/lib-1.0-sources.tar.gz`;
  });
  after(async () => {
    repo[Symbol.dispose]();
    await world[Symbol.asyncDispose]();
  });

  const download = ({ token }: Caller, path: string) => askAndStop(world.port, path, { authorization: basic("_token", token) });
  const ping = async () => (await world.raw("GET", "/ping/v2/ping")).status;

  async function close(unread: readonly UnreadAnswer[]): Promise<void> {
    for (const { socket } of unread) socket.destroy();
  }

  for (const [content, path] of [
    ["blobs", () => blob],
    ["files of libraries", () => file],
  ] as const) {
    test(`calls are answered during downloads of ${content}, and each caller has a limited number of them`, async () => {
      const unread: UnreadAnswer[] = [];
      for (let i = 0; i < TRANSFERS; i++) unread.push(await download(world.owner, path()));
      for (let i = 0; i < TRANSFERS; i++) unread.push(await download(robot, path()));
      assert.deepEqual(
        unread.map(({ status }) => status),
        [200, 200, 200, 200],
      );
      const refused = await download(world.owner, path());
      assert.equal(refused.status, 429, refused.text);
      assert.match(refused.text, /\r\nretry-after: 1\r\n/i);
      assert.doesNotMatch(refused.text, /\r\netag: |\r\naccept-ranges: /i);
      for (let i = 0; i < CALLS; i++) assert.equal(await ping(), 200);
      await close([...unread, refused]);
      await until(async () => {
        const again = await download(world.owner, path());
        await close([again]);
        return again.status === 200;
      });
    });
  }

  test("calls are answered while Maven metadata is uploaded slowly, and each caller has a limited number of such uploads", async () => {
    const path = "/libraries/java/my-org/com/example/lib/maven-metadata.xml";
    const uploads = new Map<ClientRequest, Promise<[IncomingMessage]>>();
    const begin = () => {
      const upload = repo.client.open("PUT", path);
      upload.write("<metadata>");
      uploads.set(upload, once(upload, "response") as Promise<[IncomingMessage]>);
      // The upload that asks whether there is a free slot may have had the last one.
      upload.once("response", ({ statusCode }) => void (statusCode === 429 && uploads.delete(upload)));
    };
    await until(async () => {
      while (uploads.size < TRANSFERS) begin();
      return (await repo.client.send("PUT", path, { body: "<metadata/>" })).status === 429;
    });
    for (let i = 0; i < CALLS; i++) assert.equal(await ping(), 200);
    for (const upload of uploads.keys()) upload.end("</metadata>");
    for (const [answer] of await Promise.all(uploads.values())) assert.equal(answer.resume().statusCode, 200);
  });

  test("calls are answered during uploads, and uploads that were admitted are stored", async () => {
    const uploads: ClientRequest[] = [];
    const begin = (digest: string) => {
      const upload = repo.client.open("POST", `${repo.name}/blobs/uploads/?digest=${digest}`, { "content-length": "2" });
      upload.on("error", () => {}).write("{");
      return upload;
    };
    const digest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    while (uploads.length < TRANSFERS) {
      const upload = begin(digest);
      let isRefused = false;
      upload.once("response", (answer: IncomingMessage) => {
        answer.resume();
        isRefused = true;
      });
      // The server creates a file once the transfer has its slot. The last download may still hold one.
      await until(async () => isRefused || (await readdir(join(world.dataDir, "uploads"))).length > uploads.length);
      if (!isRefused) uploads.push(upload);
    }
    const [refused] = (await once(begin(digest), "response")) as [IncomingMessage];
    assert.equal(refused.resume().statusCode, 429);
    for (let i = 0; i < CALLS; i++) assert.equal(await ping(), 200);
    const answers = uploads.map((upload) => once(upload, "response") as Promise<[IncomingMessage]>);
    for (const upload of uploads) upload.end("}");
    for (const [answer] of await Promise.all(answers)) assert.equal(answer.resume().statusCode, 201);
  });
});
