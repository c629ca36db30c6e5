/** The domains of this server, and what follows from all of them together. */
import { advisoriesDomain } from "./advisories/module.ts";
import type { Domain } from "./api/module.ts";
import { orderMigrations } from "./db/migrate.ts";
import { eventsDomain } from "./events/module.ts";
import { iamDomain } from "./iam/module.ts";
import { librariesDomain } from "./libraries/module.ts";
import type { EventSubjects } from "./outbox/subject.ts";
import { registryDomain } from "./registry/module.ts";
import { scimDomain } from "./scim/module.ts";
import { signInDomain } from "./sign-in/module.ts";

export const domains: readonly Domain[] = [
  iamDomain,
  eventsDomain,
  registryDomain,
  librariesDomain,
  advisoriesDomain,
  scimDomain,
  signInDomain,
];

export const migrations = orderMigrations(domains.flatMap((domain) => domain.migrations));

export const blobReferences = domains.flatMap((domain) => domain.blobReferences ?? []);

export const eventSubjects: EventSubjects = Object.assign({}, ...domains.map((domain) => domain.eventSubjects));
