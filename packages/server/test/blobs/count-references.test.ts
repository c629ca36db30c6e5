/** The cost of counting an organization's references to a blob, by the plan of SQLite, which never changes by statistics. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sql } from "kysely";
import { contentReferences, countReferencesUpTo } from "../../src/blobs/references.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { domains } from "../../src/domains.ts";
import { createLog } from "../../src/lib/log.ts";
import { newUid } from "../../src/lib/uid.ts";

test("the references of an organization to a blob are found without passing those of other organizations", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-references-"));
  {
    await using store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
    const references = contentReferences(domains.flatMap(({ blobReferences = [] }) => blobReferences));
    const count = countReferencesUpTo(2, references, { digest: sql.ref("b.digest"), orgUid: newUid("") });
    const { rows } = await sql<{ detail: string }>`explain query plan select ${count} from blob as b`.execute(store.reader);
    const plan = rows.map(({ detail }) => detail).join("\n");
    for (const { table, column, holder } of references)
      assert.ok(
        plan.includes(`SEARCH holder USING COVERING INDEX ${table}_by_${column} (${column}=? AND ${holder}>? AND ${holder}<?)`),
        plan,
      );
  }
  await rm(dataDir, { recursive: true });
});
