/** `order_by`: one field, optionally followed by a direction (AIP-132). */
import { invalidArgument } from "../../lib/errors.ts";
import type { Resource } from "./define.ts";

export interface Order {
  readonly column: string;
  readonly descending: boolean;
}

/** Names that older clients use. */
const aliases: Readonly<Record<string, string>> = {
  id: "uid",
  created_at: "create_time",
  updated_at: "update_time",
  last_updated: "update_time",
};

type Ordered = Pick<Resource, "orderBy" | "defaultOrder"> & Partial<Pick<Resource, "hasUidOfGroup">>;

/** Accepts both spellings of proto names, and the aliases. @throws INVALID_ARGUMENT on order_by */
export function parseOrderBy(text: string, resource: Ordered): Order {
  const words = text.trim().split(/\s+/);
  const [name = "", direction = "asc"] = words;
  if (name === "") return parseOrderBy(resource.defaultOrder, resource);
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const column = resource.orderBy.includes(snake) ? snake : (aliasOf(snake, resource) ?? snake);
  if (!resource.orderBy.includes(column)) throw invalidArgument("order_by", `order_by must name one of ${resource.orderBy.join(", ")}`);
  const lower = direction.toLowerCase();
  if (words.length > 2 || (lower !== "asc" && lower !== "desc"))
    throw invalidArgument("order_by", 'order_by must be a field, optionally followed by "asc" or "desc"');
  return { column, descending: lower === "desc" };
}

/** The column behind a name that is not a column itself. */
function aliasOf(name: string, { hasUidOfGroup = false }: Ordered): string | undefined {
  if (name === "group" && hasUidOfGroup) return "uid";
  return Object.hasOwn(aliases, name) ? aliases[name] : undefined;
}
