/** Knows the domain of each kind of resource: a group belongs to `iam`, whichever service does not find it. */
import { services } from "@holt/api";

const domains: ReadonlyMap<string, string> = new Map(
  services.flatMap(({ typeName, file }) => {
    const [root = "", domain = "", version] = typeName.split(".");
    return root === "platform" && version === "v2" ? file.messages.map(({ name }) => [name, domain] as const) : [];
  }),
);

/** @param kind message name of a resource @returns undefined for a kind that version 2 of the contract does not have */
export function domainOfKind(kind: string): string | undefined {
  return domains.get(kind);
}
