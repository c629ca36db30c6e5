/** The fields that a synced repo has from its source. Pure. */
import type { Repo } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";

type Inherited = Pick<Repo, "catalogTier" | "bundles" | "aliases" | "activeTags">;

export const inherited: readonly { readonly key: keyof Inherited; readonly field: string }[] = [
  { key: "catalogTier", field: "catalog_tier" },
  { key: "bundles", field: "bundles" },
  { key: "aliases", field: "aliases" },
  { key: "activeTags", field: "active_tags" },
];

export function inherit(next: Repo, { catalogTier, bundles, aliases, activeTags }: Inherited): void {
  Object.assign(next, { catalogTier, bundles: [...bundles], aliases: [...aliases], activeTags: [...activeTags] });
}

/** Whether the change leaves synced repos as they are. */
export function hasSameInherited(before: Inherited, after: Inherited): boolean {
  return inherited.every(({ key }) => isSameValue(before[key], after[key]));
}

export function isSameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
