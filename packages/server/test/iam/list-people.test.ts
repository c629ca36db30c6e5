/** The cost of people in a list of all identities, by the plans of both stores. That of SQLite never changes by statistics. */
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
import type { ReadDb, Store } from "../../src/db/store.ts";
import { identitiesService } from "../../src/iam/api/identities.ts";
import { createLog } from "../../src/lib/log.ts";
import { newUid } from "../../src/lib/uid.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";

const log = createLog("silent");
const pageTokens = createPageTokens(new Uint8Array(32));
const LIST = "platform.iam.v2.IdentitiesService/ListIdentities";

interface Statement {
  /** @returns the plan */
  explain(db: ReadDb): Promise<string>;
}

/** The statements about people that lists of identities send: all, those in root, and a filtered one. */
async function statementsOf(store: Store, explain: string): Promise<readonly Statement[]> {
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
  const statements = sent.filter((query) => query.sql.includes("membership"));
  assert.ok(statements.length >= requests.length, sent.map((query) => query.sql).join("\n"));
  return statements.map((query) => ({
    async explain(db) {
      const explained = {
        ...sql<Readonly<Record<string, string>>>`select`.compile(db),
        sql: `${explain} ${query.sql}`,
        parameters: query.parameters,
      };
      const { rows } = await db.getExecutor().executeQuery<Readonly<Record<string, string>>>(explained);
      return rows.map((row) => row.detail ?? row["QUERY PLAN"]).join("\n");
    },
  }));
}

test("a list of all identities on sqlite finds people by their memberships, not among all bindings or all people of the server", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-people-"));
  {
    await using store = await openDatabase({ url: "", dataDir, log });
    for (const { explain } of await statementsOf(store, "explain query plan")) {
      const plan = await explain(store.reader);
      assert.match(plan, /membership_by_org_uid_identity_uid \(org_uid=\?\)/);
      assert.match(plan, /role_binding_of_root_identity\w* \(identity_uid=\?/);
      assert.doesNotMatch(plan, /identity_by_parent_uid|role_binding_once|SCAN (role_binding|m)\b/);
    }
  }
  await rm(dataDir, { recursive: true });
});

test("a list of all identities on postgres finds people by indexes, not among all identities", async () => {
  await using store = await openDatabase({ url: await createMigratedDatabase(), dataDir: "", log });
  const statements = await statementsOf(store, "explain");
  await store.transaction(async (db) => {
    // The tables are empty, so the planner would read them whole.
    await sql`set local enable_seqscan = off`.execute(db);
    for (const { explain } of statements) {
      const plan = await explain(db as unknown as ReadDb);
      assert.match(plan, /membership_by_org_uid_identity_uid/);
      assert.doesNotMatch(plan, /Seq Scan on identity|Scan (?:on|using) identity_\w+.*\n(?!\s*Index Cond)/);
    }
  });
});
