/** Static facts about the domain `auditing`. Every command loads this file, so keep its imports few. */
import type { Domain } from "../api/domain.ts";
import { audit } from "./migrations/052-audit.ts";
import { auditSegments } from "./migrations/056-audit-segments.ts";
import { auditingTables } from "./organization-tables.ts";

export const auditingDomain: Domain = { name: "auditing", migrations: [audit, auditSegments], organizationTables: auditingTables };
