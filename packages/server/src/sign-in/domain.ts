/** What holds of the domain `sign-in` without a running server. Every command loads it, so it imports little. */
import type { Domain } from "../api/module.ts";
import { signIn } from "./migrations/006-sign-in.ts";
import "./tables.ts";

export const signInDomain: Domain = {
  name: "sign-in",
  migrations: [signIn],
  eventSubjects: { "platform.auth.v1.Session": ({ group }: { group: string }) => ({ subject: "", group }) },
};
