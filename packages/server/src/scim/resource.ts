/** Converts a stored user or group into the resource that the directory sees. */

import type { Json } from "./schema.ts";
import type { ResourceStorage } from "./storage.ts";

export interface ScimRow {
  readonly id: string;
  readonly create_time: string;
  readonly update_time: string;
  readonly version: number;
  readonly body: string;
}

export const COLUMNS = ["id", "create_time", "update_time", "version", "body"] as const;

/**
 * The resource without groups or members.
 * @param base URL of the provider's SCIM, without a trailing slash
 */
export function resourceFromRow({ type }: ResourceStorage, row: ScimRow, base: string): Json {
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

export function etagOf({ version }: Pick<ScimRow, "version">): string {
  return `W/"${version}"`;
}
