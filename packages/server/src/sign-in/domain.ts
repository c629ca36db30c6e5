/** Static facts about the domain `sign-in`: tables, migrations, events. Every command loads this file, so keep its imports few. */
import type { Domain } from "../api/domain.ts";
import { signIn } from "./migrations/006-sign-in.ts";
import { signInTables } from "./organization-tables.ts";
import "./tables.ts";

export const signInDomain: Domain = {
  name: "sign-in",
  migrations: [signIn],
  organizationTables: signInTables,
  eventSubjects: { "platform.auth.v1.Session": ({ group }: { group: string }) => ({ subject: "", group }) },
};
