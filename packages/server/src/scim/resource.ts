/** A stored user or group as the directory sees it. */
import type { Kind } from "./kind.ts";
import type { Json } from "./schema.ts";

export interface Row {
  readonly id: string;
  readonly create_time: string;
  readonly update_time: string;
  readonly version: number;
  readonly body: string;
}

export const COLUMNS = ["id", "create_time", "update_time", "version", "body"] as const;

/** Without groups or members. @param base URL of the provider's SCIM, without a trailing slash */
export function resourceFrom({ type }: Kind, row: Row, base: string): Json {
  const { schemas, ...attributes } = JSON.parse(row.body) as Json;
  const meta = {
    resourceType: type.name,
    created: row.create_time,
    lastModified: row.update_time,
    location: `${base}${type.endpoint}/${row.id}`,
    version: etagOf(row),
  };
  return { schemas, id: row.id, ...attributes, meta };
}

export function etagOf({ version }: Pick<Row, "version">): string {
  return `W/"${version}"`;
}
