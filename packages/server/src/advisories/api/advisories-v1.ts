/** Advisories in version 1 of the API, the version that writes. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { UIDPFilterSchema } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import {
  Advisories,
  AdvisoriesListSchema,
  AdvisoryEventListSchema,
  AdvisoryEventSchema,
  type AdvisoryFilter,
  OrderBy,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { EventTypeFilter, ReviewState } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { invalidArgument } from "../../lib/errors.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { advisories } from "../resource.ts";
import { advisoriesFromBodies, advisoryFromRow } from "../storage/load.ts";
import { type AdvisoryListRequest, listAdvisories } from "./list-advisories.ts";
import { addEvents, assertEvents } from "./new-events.ts";
import { updateEvent } from "./update-event.ts";
import { createAdvisory, deleteAdvisory, loadLive, saveAdvisory, updateAdvisory } from "./write-advisory.ts";

const resource = { ...advisories, orderBy: [...advisories.orderBy, "first_alias"] };

export interface AdvisoriesV1Collaborators {
  readonly pageTokens: PageTokens;
  readonly profile: VendorProfile;
}

export function advisoriesServiceV1({ pageTokens, profile }: AdvisoriesV1Collaborators) {
  return implement(
    Advisories,
    {
      create: write((request, call) => createAdvisory(request, call, profile)),
      update: write((request, call) => updateAdvisory(request, call)),
      delete: write(async ({ id }, call) => {
        await deleteAdvisory(id, call);
        return create(EmptySchema);
      }),

      list: read(async (request, call) => {
        const page = await listAdvisories(requestOf(request), call, { pageTokens, resource });
        const items = await advisoriesFromBodies(call.db, page.uids(), page.bodies.texts);
        const { totalCount, nextPageToken } = page;
        const id = request.uidp?.descendantsOf || request.uidp?.childrenOf || "";
        return create(AdvisoriesListSchema, {
          id,
          items,
          nextPageToken,
          ...(totalCount !== undefined && { totalCount: BigInt(totalCount) }),
        });
      }),

      createAdvisoryEvent: write(async ({ parentId, advisoryEvent: given = create(AdvisoryEventSchema) }, call) => {
        assertEvents([given], () => "");
        const loaded = await loadLive(call.db, parentId);
        const { advisory } = loaded;
        const events = await addEvents(advisory, [given], call);
        const known = new Set(advisory.events.map(({ id }) => id));
        const saved = await saveAdvisory(loaded, { ...advisory, events }, call);
        return saved.events.find(({ id }) => !known.has(id)) ?? given;
      }),

      listAdvisoryEvents: read(async ({ parentId }, { db }) => {
        const row = await db.selectFrom("advisory").select(["body", "other_events"]).where("uid", "=", parentId).executeTakeFirst();
        return create(AdvisoryEventListSchema, { parentId, items: row === undefined ? [] : advisoryFromRow(row).events });
      }),

      updateAdvisoryEvent: write((request, call) => updateEvent(request, call)),
    },
    "Advisory",
  );
}

/** `order_by` for each named order. Lists show no deleted advisories, so the order by deletion time is that of the uid. */
const orders: Readonly<Partial<Record<OrderBy, string>>> = {
  [OrderBy.ORDER_BY_UNSPECIFIED]: "uid",
  [OrderBy.ID_ASC]: "uid",
  [OrderBy.ID_DESC]: "uid desc",
  [OrderBy.CREATED_AT_ASC]: "create_time",
  [OrderBy.CREATED_AT_DESC]: "create_time desc",
  [OrderBy.ALIASES_ASC]: "first_alias",
  [OrderBy.ALIASES_DESC]: "first_alias desc",
  [OrderBy.UPDATED_AT_ASC]: "update_time",
  [OrderBy.UPDATED_AT_DESC]: "update_time desc",
  [OrderBy.DELETED_AT_ASC]: "uid",
  [OrderBy.DELETED_AT_DESC]: "uid",
};

/** The request in the terms of version 2. */
function requestOf(filter: AdvisoryFilter): AdvisoryListRequest {
  const orderBy = orders[filter.orderBy];
  if (orderBy === undefined) throw invalidArgument("order_by", `order_by has no value ${filter.orderBy}`);
  return {
    uidp: filter.uidp ?? create(UIDPFilterSchema),
    pageSize: Number(filter.pageSize),
    pageToken: filter.pageToken,
    orderBy,
    skip: 0,
    ...(filter.id !== "" && { uid: filter.id }),
    advisoryIds: filter.advisoryIds,
    legacyAdvisoryIds: filter.legacyAdvisoryIds,
    artifactNames: filter.artifactName,
    artifactTypes: filter.artifactType,
    artifactArchitectures: filter.artifactArchitecture,
    componentNames: filter.componentName,
    componentTypes: filter.componentType,
    componentLocations: filter.componentLocation,
    aliases: filter.aliases,
    eventReviewStates: filter.eventStatuses as number[] as ReviewState[],
    eventAuthors: filter.eventAuthor,
    excludeEventAuthors: filter.excludeEventAuthor,
    eventReviewers: filter.eventReviewer,
    eventTypes: filter.eventTypes as number[] as EventTypeFilter[],
    query: "",
    ...(filter.origin !== undefined && { origin: filter.origin }),
    ...(filter.latestEventType !== undefined && { latestEventType: filter.latestEventType as number as EventTypeFilter }),
  };
}
