/** Every table says how its rows belong to organizations, so that no export forgets one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { readTableShapes } from "../../src/db/table-columns.ts";
import { organizationTables } from "../../src/domains.ts";
import { createLog } from "../../src/lib/log.ts";
import { isCarried } from "../../src/transfer/organization-tables.ts";
import { storeNames } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { createDatabaseOn } from "../harness/migrated-database.ts";

for (const store of storeNames) {
  test(`every table of the schema on ${store} declares how its rows belong to organizations`, async () => {
    await using folder = await temporaryFolder();
    const url = await createDatabaseOn(store);
    await using database = await openDatabase({ url, dataDir: folder.path, log: createLog("silent") });
    const shapes = await readTableShapes(database.reader);
    assert.deepEqual(Object.keys(organizationTables).toSorted(), [...shapes.keys()].toSorted());
    for (const [name, ownership] of Object.entries(organizationTables)) {
      const { columns = [], key = [] } = shapes.get(name) ?? {};
      if (!isCarried(ownership)) continue;
      assert.ok(key.length > 0, `${name} has no primary key`);
      const { rowNumbers = {}, position, onlyWith, secret, replaced = {}, sharedBy = [] } = ownership;
      const named = [...Object.keys(rowNumbers), ...Object.keys(replaced), ...sharedBy, position, onlyWith?.column, secret?.column];
      for (const column of named) assert.ok(column === undefined || columns.includes(column), `${name} has no column ${column}`);
    }
  });
}
