/** The cost of people in a list of all identities, by the plan of SQLite, which never changes by statistics. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { create as createMessage } from "@bufbuild/protobuf";
import { ListIdentitiesRequestSchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { type CompiledQuery, sql } from "kysely";
import { Access } from "../../src/access/capabilities.ts";
import type { Call } from "../../src/api/call/call.ts";
import { createPageTokens } from "../../src/api/resource/page-token.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { createReadHandle } from "../../src/db/handle.ts";
import { identitiesService } from "../../src/iam/api/identities.ts";
import { createLog } from "../../src/lib/log.ts";
import { newUid } from "../../src/lib/uid.ts";

const pageTokens = createPageTokens(new Uint8Array(32));
const LIST = "platform.iam.v2.IdentitiesService/ListIdentities";

test("a list of all identities finds people by their memberships, not among all bindings or all people of the server", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-people-"));
  {
    await using store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
    const sent: CompiledQuery[] = [];
    const db = createReadHandle(store.dialect, (query) => {
      sent.push(query);
      return store.reader.getExecutor().executeQuery(query);
    });
    const organizations = [newUid(""), newUid("")];
    const handler = identitiesService({ pageTokens } as never).handlers.get(LIST);
    const requests = [
      [organizations, {}],
      [organizations.slice(1), {}],
      [organizations.slice(1), { uidp: { inRoot: true } }],
      [organizations.slice(1), { uidp: { childrenOf: "/" }, name: "ann" }],
    ] as const;
    for (const [scopes, filters] of requests) {
      const access = new Access(new Map(scopes.map((uid) => [uid, 1n])));
      const operation = { name: LIST, access: { mode: "unscoped", capabilities: 1n } };
      const call = { operation, access, principal: { uid: newUid("") }, now: new Date(), db } as unknown as Call;
      await handler?.handle(createMessage(ListIdentitiesRequestSchema, { orderBy: "name", ...filters }), call as never, undefined);
    }
    const plans = await Promise.all(sent.filter((query) => query.sql.includes("membership")).map((query) => planOf(query)));
    assert.ok(plans.length >= requests.length, sent.map((query) => query.sql).join("\n"));
    for (const plan of plans) {
      assert.match(plan, /membership_by_org_uid_identity_uid \(org_uid=\?\)/);
      assert.match(plan, /role_binding_of_root_identity\w* \(identity_uid=\?/);
      assert.doesNotMatch(plan, /identity_by_parent_uid|role_binding_once|SCAN (role_binding|m)\b/);
    }

    async function planOf({ sql: text, parameters }: CompiledQuery): Promise<string> {
      const query = { ...sql<{ detail: string }>`select`.compile(store.reader), sql: `explain query plan ${text}`, parameters };
      const { rows } = await store.reader.getExecutor().executeQuery<{ detail: string }>(query);
      return rows.map(({ detail }) => detail).join("\n");
    }
  }
  await rm(dataDir, { recursive: true });
});
