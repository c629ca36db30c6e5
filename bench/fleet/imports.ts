/** Imports of advisories as work of one or several fleets. */
import { decodeJwt } from "jose";
import { secdbOf } from "../../packages/server/test/harness/advisories/remote-client.ts";
import type { Fleet } from "./servers.ts";
import { untilNone, type Work } from "./work.ts";

/** An organization may have this number at most. */
const IMPORTS = 8;
const PACKAGES_PER_IMPORT = Number(process.env.BENCH_FLEET_PACKAGES ?? 4000);

export async function imports(fleets: readonly Fleet[]): Promise<Work> {
  const each = await Promise.all(fleets.map((fleet) => importsOf(fleet, IMPORTS / fleets.length)));
  return {
    kind: `imports of ${PACKAGES_PER_IMPORT} packages`,
    count: IMPORTS,
    prepare: async () => void (await Promise.all(each.map((one) => one.prepare()))),
    run: async () => void (await Promise.all(each.map((one) => one.run()))),
  };
}

async function importsOf(
  { organization, post, client, servers: [{ token }] }: Fleet,
  count: number,
): Promise<Pick<Work, "prepare" | "run">> {
  const { sub } = decodeJwt(token);
  const capabilities = ["advisories.create", "advisories.update", "advisories.list"];
  const { uid: role } = await post(`/iam/v2/roles/${organization}`, { name: "importer", capabilities });
  await post(`/iam/v2/roleBindings/${organization}`, { identityUid: sub, roleUid: role });
  let uids: string[] = [];
  let groups = 0;
  return {
    async prepare() {
      uids = [];
      for (let i = 0; i < count; i++) {
        const { uid: group } = await post(`/iam/v2/groups/${organization}`, { name: `import-${groups++}` });
        const { uid } = await post(`/holt/v1/imports/${group}`, { kind: "IMPORT_KIND_ADVISORIES", fileName: "feed.json" });
        await post(`/holt/v1/imports/${uid}:write`, { offset: "0", data: secdbOf(PACKAGES_PER_IMPORT).toString("base64") });
        uids.push(uid);
      }
    },
    async run() {
      for (const uid of uids) await post(`/holt/v1/imports/${uid}:start`, {});
      await untilNone(client, "select count(*) as n from advisory_import where state in ('waiting', 'running')");
    },
  };
}
