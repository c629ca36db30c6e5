/** Names and orders the services for people who read the API browser. The name of a service follows from its descriptor. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Operation } from "../call/operation.ts";

/** In the order in which people get to know Holt. The first pattern that matches a service decides. */
const DOMAINS: readonly (readonly [title: string, services: RegExp])[] = [
  ["Signing in", /^platform\.(auth|oidc)\.|^holt\.v1\.(Accounts|Sessions|SignIn|Memberships)/],
  ["Access", /^platform\.iam\.|^holt\.v1\.(Access|PullTokens)/],
  ["Images", /^platform\.registry\.|^holt\.v1\.(Image|Signature|PublicContent|PullRecordings|EndOfLife)/],
  ["Libraries", /^platform\.libraries\.|^holt\.v1\.(Library|Python)/],
  ["Advisories", /^platform\.(vulnerabilities|advisory)\.|^holt\.v1\.(Advisory|Imports|Vulnerabilities)/],
  ["Events", /^platform\.events\.|^holt\.v1\.(Events|Deliveries|Subscription)/],
];
const REST = "Everything else";

/** Such as `Access: Group invites`. */
export function tagOf({ method }: Operation): string {
  const { typeName } = method.parent;
  return `${domainOf(typeName)}: ${wordsOf(typeName)}${isOld(typeName) ? " (version 1)" : ""}`;
}

/** The tags by domain: those that are served before the others, and current versions before version 1. */
export function orderedTags(operations: readonly Operation[]): JsonObject[] {
  const titles = [...DOMAINS.map(([title]) => title), REST];
  const services = [...Map.groupBy(operations, tagOf)].map(([name, members]) => {
    const typeName = members[0]?.method.parent.typeName ?? "";
    return { name, typeName, isServed: members.some(({ handler }) => handler !== undefined) };
  });
  const rankOf = ({ typeName, isServed }: (typeof services)[number]) =>
    (isServed ? 0 : 100) + titles.indexOf(domainOf(typeName)) * 2 + (isOld(typeName) ? 1 : 0);
  return services
    .sort((one, other) => rankOf(one) - rankOf(other))
    .map(({ name, typeName, isServed }) => ({ name, description: `\`${typeName}\`${isServed ? "" : ", not served"}` }));
}

function domainOf(typeName: string): string {
  return DOMAINS.find(([, services]) => services.test(typeName))?.[0] ?? REST;
}

function wordsOf(typeName: string): string {
  const name = typeName.slice(typeName.lastIndexOf(".") + 1).replace(/(?<=.)Service$/, "");
  const [first = "", ...more] = name.split(/(?<=[a-z])(?=[A-Z])/);
  return [first, ...more.map((word) => (/^[A-Z]{2}/.test(word) ? word : word.toLowerCase()))].join(" ");
}

/** Version 1 of the published API is a view of the same data; `holt.v1` is the only version of its services. */
function isOld(typeName: string): boolean {
  return /^platform\.\w+\.v1\./.test(typeName);
}
