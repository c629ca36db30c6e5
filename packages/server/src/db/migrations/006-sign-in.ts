/** Logins that are under way: in a browser, on a machine without one, on a device. */
import type { Migration } from "../migrate.ts";

export const signIn: Migration = {
  name: "sign-in",
  statements: () => [],
};
