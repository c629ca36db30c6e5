/** What holds of the domain `scim` without a running server. Every command loads it, so it imports little. */
import type { Domain } from "../api/module.ts";
import { scim } from "./migrations/007-scim.ts";
import "./tables.ts";

export const scimDomain: Domain = { name: "scim", migrations: [scim] };
