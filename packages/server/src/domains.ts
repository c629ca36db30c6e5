/** The domains of this server, and what follows from all of them together. */
import { advisoriesDomain } from "./advisories/domain.ts";
import type { Domain } from "./api/domain.ts";
import { auditingDomain } from "./auditing/domain.ts";
import { orderMigrations } from "./db/migrate.ts";
import { eventsDomain } from "./events/domain.ts";
import { iamDomain } from "./iam/domain.ts";
import { librariesDomain } from "./libraries/domain.ts";
import type { EventSubjects } from "./outbox/subject.ts";
import { registryDomain } from "./registry/domain.ts";
import { scimDomain } from "./scim/domain.ts";
import { signInDomain } from "./sign-in/domain.ts";
import type { OrganizationTables } from "./transfer/organization-tables.ts";
import { platformTables } from "./transfer/platform-tables.ts";

export const domains: readonly Domain[] = [
  iamDomain,
  eventsDomain,
  registryDomain,
  librariesDomain,
  advisoriesDomain,
  scimDomain,
  signInDomain,
  auditingDomain,
];

export const migrations = orderMigrations(domains.flatMap((domain) => domain.migrations));

export const searchSources = domains.flatMap((domain) => domain.search ?? []);

export const blobReferences = domains.flatMap((domain) => domain.blobReferences ?? []);

/** A table comes after those that it refers to. */
export const organizationTables: OrganizationTables = Object.assign(
  {},
  ...domains.map((domain) => domain.organizationTables),
  platformTables,
);

export const jobQueues = domains.flatMap((domain) => domain.queues ?? []);

export const countedRows = domains.flatMap((domain) => domain.countedRows ?? []);

export const eventSubjects: EventSubjects = Object.assign({}, ...domains.map((domain) => domain.eventSubjects));
