/** Filters of lists that callers save under a name, for themselves. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { ListSavedFiltersResponseSchema, type SavedFilter, SavedFiltersService } from "@holt/api/gen/holt/v1/saved_filters_pb.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { assertNone } from "../../api/resource/names.ts";
import { assertGroupExists } from "../../api/resource/write.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { notFound, resourceExhausted, unauthenticated } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";

/** Maximum number of filters of one caller in one organization. */
const MAX_FILTERS = 100;
const MAX_NAME = 100;
const MAX_QUERY = 2000;
const LIST = /^[a-z0-9-]{1,50}$/;

/** The names of the caller's filters of one list begin with this key. */
interface ListKey {
  readonly identity_uid: string;
  readonly org_uid: string;
  readonly list: string;
}

export const savedFiltersService = implement(
  SavedFiltersService,
  {
    listSavedFilters: read(async (request, call) => {
      const { identity_uid, org_uid, list } = await keyOf(request, call);
      const savedFilters = await call.db
        .selectFrom("saved_filter")
        .select(["name", "query"])
        .where("identity_uid", "=", identity_uid)
        .where("org_uid", "=", org_uid)
        .where("list", "=", list)
        .orderBy("name")
        .execute();
      return create(ListSavedFiltersResponseSchema, { savedFilters });
    }),

    saveFilter: write(async (request, call) => {
      const filter = request.savedFilter as SavedFilter;
      const { name, query } = filter;
      const key = await keyOf(request, call);
      const violations = [
        ...textViolations("saved_filter.name", name, { min: 1, max: MAX_NAME }),
        ...textViolations("saved_filter.query", query, { min: 0, max: MAX_QUERY }),
      ];
      assertNone(violations);
      // Locks the organization against deletion, which would leave the filter behind.
      await assertGroupExists(key.org_uid, call.db);
      await assertRoom(key, name, call);
      await call.db
        .insertInto("saved_filter")
        .values({ ...key, name, query })
        .onConflict((conflict) => conflict.columns(["identity_uid", "org_uid", "list", "name"]).doUpdateSet({ query }))
        .execute();
      return filter;
    }),

    deleteSavedFilter: write(async (request, call) => {
      const { identity_uid, org_uid, list } = await keyOf(request, call);
      await call.db
        .deleteFrom("saved_filter")
        .where("identity_uid", "=", identity_uid)
        .where("org_uid", "=", org_uid)
        .where("list", "=", list)
        .where("name", "=", request.name)
        .execute();
      return create(EmptySchema);
    }),
  },
  "Group",
);

/** @throws HoltError INVALID_ARGUMENT for a folder or a malformed list; NOT_FOUND */
async function keyOf({ uid, list }: { readonly uid: string; readonly list: string }, { db, principal }: Call): Promise<ListKey> {
  if (principal === undefined) throw unauthenticated("sign in first");
  const group = await db.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (group === undefined) throw notFound("Group", uid.slice(0, 200));
  assertNone([
    ...(isInRoot(uid) ? [] : [{ field: "uid", description: "uid must be that of an organization" }]),
    ...(LIST.test(list) ? [] : [{ field: "list", description: `list must match "${LIST.source}"` }]),
  ]);
  return { identity_uid: principal.uid, org_uid: uid, list };
}

function textViolations(field: string, text: string, { min, max }: { readonly min: number; readonly max: number }) {
  const length = [...text].length;
  if (length >= min && length <= max && isCleanText(text)) return [];
  return [{ field, description: `${field} must have ${min} to ${max} characters and no control characters` }];
}

/** Two calls at the same time may save one more: the limit only bounds the table. */
async function assertRoom({ identity_uid, org_uid, list }: ListKey, name: string, { db }: WriteCall): Promise<void> {
  const rows = await db
    .selectFrom("saved_filter")
    .select(["list", "name"])
    .where("identity_uid", "=", identity_uid)
    .where("org_uid", "=", org_uid)
    .limit(MAX_FILTERS)
    .execute();
  const replaces = rows.some((row) => row.list === list && row.name === name);
  if (rows.length >= MAX_FILTERS && !replaces)
    throw resourceExhausted(`you have ${MAX_FILTERS} saved filters in the organization: delete one first`);
}
