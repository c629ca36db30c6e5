/** Static facts about the domain `scim`: tables, migrations, events. Every command loads this file, so keep its imports few. */
import type { Domain } from "../api/domain.ts";
import { scim } from "./migrations/007-scim.ts";
import { scimTables } from "./organization-tables.ts";
import "./tables.ts";

export const scimDomain: Domain = { name: "scim", migrations: [scim], organizationTables: scimTables };
