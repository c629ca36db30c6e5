/**
 * Converts advisories between the two versions of the API. Version 1 has one event type that version 2 does not have.
 * Pure.
 */
import { create } from "@bufbuild/protobuf";
import * as v1 from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import * as v2 from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { byTime } from "./event-order.ts";
import { isInBothVersions, v1EventFromV2, v2EventFromV1 } from "./event-versions.ts";

/** Spread into new messages, because calling `create` takes longer than the rest of a conversion. */
const empty = { v1: create(v1.AdvisorySchema), v2: create(v2.AdvisorySchema) };

/**
 * Leaves out severities, which are added when an advisory is read, and events of a type that version 2 does not have.
 */
export function v2FromV1(advisory: v1.Advisory): v2.Advisory {
  const { id, createdAt, updatedAt, deletedAt, legacyAdvisoryID, events, ...same } = advisory;
  return {
    ...empty.v2,
    ...pick(same),
    uid: id,
    componentName: advisory.componentName ?? "",
    componentLocation: advisory.componentLocation ?? "",
    componentType: advisory.componentType ?? "",
    events: events.filter(isInBothVersions).map(v2EventFromV1),
    ...(createdAt && { createTime: createdAt }),
    ...(updatedAt && { updateTime: updatedAt }),
    ...(deletedAt && { deleteTime: deletedAt }),
    ...(legacyAdvisoryID !== undefined && { legacyAdvisoryId: legacyAdvisoryID }),
  };
}

/** @param others the events of a type that version 2 does not have */
export function v1FromV2(advisory: v2.Advisory, others: readonly v1.AdvisoryEvent[]): v1.Advisory {
  const { uid, createTime, updateTime, deleteTime, legacyAdvisoryId } = advisory;
  const known = advisory.events.map(v1EventFromV2);
  return {
    ...empty.v1,
    ...pick(advisory),
    id: uid,
    ...componentOf(advisory),
    ...(createTime && { createdAt: createTime }),
    ...(updateTime && { updatedAt: updateTime }),
    ...(deleteTime && { deletedAt: deleteTime }),
    ...(legacyAdvisoryId !== undefined && { legacyAdvisoryID: legacyAdvisoryId }),
    events: others.length === 0 ? known : [...known, ...others].sort(byTime),
  };
}

/** The fields of the component that are not empty. Version 2 does not distinguish an empty one from none. */
export function componentOf(advisory: Pick<v1.Advisory, "componentName" | "componentType" | "componentLocation">) {
  const { componentName, componentType, componentLocation } = advisory;
  return {
    ...(componentName && { componentName }),
    ...(componentLocation && { componentLocation }),
    ...(componentType && { componentType }),
  };
}

/** The events of a type that version 2 does not have. */
export function v1OnlyEventsOf({ events }: v1.Advisory): readonly v1.AdvisoryEvent[] {
  return events.filter((event) => !isInBothVersions(event));
}

function pick({
  advisoryId,
  author,
  artifactName,
  artifactType,
  artifactArchitecture,
  aliases,
}: Omit<v1.Advisory | v2.Advisory, "$typeName" | "events">) {
  return { advisoryId, author, artifactName, artifactType, artifactArchitecture, aliases };
}
