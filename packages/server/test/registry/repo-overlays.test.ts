/** Tests the custom overlays of repos, on both stores. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { beforeEach, it } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { repoCalls } from "../harness/registry/repo-calls.ts";
import { describeWithWorld } from "../harness/world.ts";

type RepoInit = MessageInitShape<typeof RepoSchema>;

describeWithWorld("custom overlays of repos", (world) => {
  let group: string;
  beforeEach(async () => {
    group = await world.group(world.orgUid);
  });
  const { make, change, violationOf } = repoCalls(world, () => group);

  const publicKey = (type: "rsa" | "ec") =>
    type === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ type: "spki", format: "pem" }).toString()
      : generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" }).toString();
  const rsa = publicKey("rsa");

  it("a repo keeps all fields of its custom overlay", async () => {
    const overlay = {
      contents: { packages: ["curl"], runtimeRepositories: ["https://x"], runtimeKeyring: [{ name: "a@b-1.rsa.pub", content: rsa }] },
      environment: { PATH: "/bin", "": "" },
      annotations: { "com.example.a": "b" },
      accounts: { runAs: "65532", users: [{ username: "u", uid: 1 }], groups: [{ groupname: "g", members: ["u"] }] },
      certificates: { additional: [{ name: "ca", content: "PEM" }], providers: ["p"] },
    };
    const { uid } = await make({ name: "nginx", customOverlay: overlay });
    const { customOverlay } = JSON.parse((await world.raw("GET", `/registry/v2/repos/${uid}`)).text);
    assert.deepEqual(customOverlay.contents, overlay.contents);
    assert.deepEqual(customOverlay.annotations, overlay.annotations);
    assert.equal(customOverlay.accounts.users[0].username, "u");
    assert.equal((await change({ uid }, "custom_overlay")).customOverlay, undefined);
  });

  it("a custom overlay with reserved names or invalid keys is refused", async () => {
    const keyring = (name: string, content: string) => ({ contents: { runtimeKeyring: [{ name, content }] } });
    const at = "custom_overlay.contents.runtime_keyring[0]";
    const privateKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" }).toString();
    for (const [field, customOverlay] of [
      ["custom_overlay.environment", { environment: { HOLT_X: "1" } }],
      ["custom_overlay.annotations", { annotations: { "dev.holt.x": "1" } }],
      ["custom_overlay.annotations", { annotations: { "org.opencontainers.image.title": "1" } }],
      [`${at}.name`, keyring(".hidden", rsa)],
      [`${at}.name`, keyring("a/b", rsa)],
      [`${at}.name`, keyring("", rsa)],
      [`${at}.content`, keyring("a", "nonsense")],
      [`${at}.content`, keyring("a", publicKey("ec"))],
      [`${at}.content`, keyring("a", privateKey)],
      ["custom_overlay.accounts.users[0].username", { accounts: { users: [{ uid: 1 }] } }],
      ["custom_overlay.accounts.users[0].uid", { accounts: { users: [{ username: "a", uid: -1 }] } }],
      ["custom_overlay.accounts.users[0].gid", { accounts: { users: [{ username: "a", gid: -1 }] } }],
      ["custom_overlay.accounts.groups[0].gid", { accounts: { groups: [{ groupname: "a", gid: -(2 ** 31) }] } }],
    ] as [string, RepoInit["customOverlay"] & object][]) {
      const violations = (await violationOf({ name: "nginx", customOverlay })) as { field: string }[];
      assert.deepEqual(
        violations.map((violation) => violation.field),
        [field],
      );
    }
  });
});
