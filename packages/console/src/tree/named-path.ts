/** The path of a group in the registries of images and libraries. */
import { useQuery } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { MAX_PAGE_SIZE } from "../list/list-method.ts";

/** Stands for an object in the group, so that the group itself is among the ancestors. */
const ANY_CHILD = "0".repeat(16);

/** @returns undefined until the names are known */
export function useNamedPath(group: string) {
  const above = { uidp: { ancestorsOf: `${group}/${ANY_CHILD}` }, pageSize: MAX_PAGE_SIZE };
  const { data, error } = useQuery(GroupsService.method.listGroups, above);
  const names = new Map(data?.groups.map(({ uid, name }) => [uid, name]));
  const parts = group.split("/");
  const path = parts.map((_, index) => registryName(names.get(parts.slice(0, index + 1).join("/")), parts[index] ?? ""));
  return { path: data === undefined ? undefined : path, error };
}

/** The grammar of image names, which allows fewer characters than the API. */
const NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;

/**
 * @param name undefined if the person may not read it
 * @param part of the uid, which takes the place of a name that cannot be in a path
 */
export function registryName(name: string | undefined, part: string): string {
  return name !== undefined && NAME.test(name) ? name : part;
}
