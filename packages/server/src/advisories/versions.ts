/** Advisories as the two versions of the API show them. Version 1 is the richer one: it knows one more kind of event. Pure. */
import { create } from "@bufbuild/protobuf";
import * as v1 from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import * as v2 from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";

/** Without severities, which are derived when it is read, and without events that version 2 does not know. */
export function v2FromV1(advisory: v1.Advisory): v2.Advisory {
  const { id, createdAt, updatedAt, deletedAt, legacyAdvisoryID, events, ...same } = advisory;
  return create(v2.AdvisorySchema, {
    ...pick(same),
    uid: id,
    componentName: advisory.componentName ?? "",
    componentLocation: advisory.componentLocation ?? "",
    componentType: advisory.componentType ?? "",
    events: events.flatMap((event) => v2EventFromV1(event) ?? []),
    ...(createdAt && { createTime: createdAt }),
    ...(updatedAt && { updateTime: updatedAt }),
    ...(deletedAt && { deleteTime: deletedAt }),
    ...(legacyAdvisoryID !== undefined && { legacyAdvisoryId: legacyAdvisoryID }),
  });
}

/** @param events all events, those of version 1 alone included */
export function v1FromV2(advisory: v2.Advisory, events: v1.AdvisoryEvent[]): v1.Advisory {
  const { uid, createTime, updateTime, deleteTime, legacyAdvisoryId } = advisory;
  return create(v1.AdvisorySchema, {
    ...pick(advisory),
    id: uid,
    componentName: advisory.componentName,
    componentLocation: advisory.componentLocation,
    componentType: advisory.componentType,
    events,
    ...(createTime && { createdAt: createTime }),
    ...(updateTime && { updatedAt: updateTime }),
    ...(deleteTime && { deletedAt: deleteTime }),
    ...(legacyAdvisoryId !== undefined && { legacyAdvisoryID: legacyAdvisoryId }),
  });
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

/** To be spread: `create` looks at every field of every event, which is most of what it costs to store an advisory. */
const emptyEvent = create(v2.AdvisoryEventSchema);

/** Undefined for a kind of event that version 2 does not know. */
function v2EventFromV1({ id, timestamp, status, findings, author, reviewer, issue, type }: v1.AdvisoryEvent): v2.AdvisoryEvent | undefined {
  if (type.case === undefined || type.case === "componentLocationChanged") return undefined;
  return {
    ...emptyEvent,
    uid: id,
    findings,
    author,
    reviewer,
    // The enums differ in names alone.
    reviewState: status as number as v2.ReviewState,
    ...(timestamp && { createTime: timestamp }),
    ...(issue !== undefined && { issue }),
    type: v2TypeOf(type),
  };
}

type V1Type = Exclude<v1.AdvisoryEvent["type"], { case: undefined } | { case: "componentLocationChanged" }>;

function v2TypeOf(type: V1Type): v2.AdvisoryEvent["type"] {
  // But for the names of two fields of a scan, and of the enum's values, the payloads are the same.
  if (type.case !== "detection") return plain(type) as v2.AdvisoryEvent["type"];
  const how = type.value.type;
  if (how.case !== "scanv1") return { case: "detection", value: create(v2.AdvisoryEvent_DetectionSchema, { type: plain(how) as never }) };
  const { $typeName: _, subpackageName: subpackage, componentName: component, ...same } = how.value;
  const scan = create(v2.AdvisoryEvent_Detection_ScanV1Schema, { ...same, subpackage, component });
  return { case: "detection", value: create(v2.AdvisoryEvent_DetectionSchema, { type: { case: "scanv1", value: scan } }) };
}

const v2Payloads = {
  fixed: v2.AdvisoryEvent_FixedSchema,
  falsePositiveDetermination: v2.AdvisoryEvent_FalsePositiveDeterminationSchema,
  analysisNotPlanned: v2.AdvisoryEvent_AnalysisNotPlannedSchema,
  fixNotPlanned: v2.AdvisoryEvent_FixNotPlannedSchema,
  pendingUpstreamFix: v2.AdvisoryEvent_PendingUpstreamFixSchema,
  truePositiveDetermination: v2.AdvisoryEvent_TruePositiveDeterminationSchema,
  patched: v2.AdvisoryEvent_PatchedSchema,
  nvdapi: v2.AdvisoryEvent_Detection_NVDAPISchema,
  manual: v2.AdvisoryEvent_Detection_ManualSchema,
};

function plain(type: { case: string | undefined; value?: object | undefined }) {
  if (type.case === undefined) return { case: undefined };
  const { typeName } = v2Payloads[type.case as keyof typeof v2Payloads];
  return { case: type.case, value: { ...type.value, $typeName: typeName } };
}
