/**
 * Converts events between the two versions of the API without loss. Version 1 has one event type that version 2 does
 * not have. Pure.
 */
import { create } from "@bufbuild/protobuf";
import * as v1 from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import * as v2 from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";

type TypeOfV1 = v1.AdvisoryEvent["type"];
type TypeOfV2 = v2.AdvisoryEvent["type"];
type SharedType = Exclude<TypeOfV1, { case: undefined } | { case: "componentLocationChanged" }>;
type SharedEvent = v1.AdvisoryEvent & { type: SharedType };

/** Whether version 2 has this type of event. */
export function isInBothVersions(event: v1.AdvisoryEvent): event is SharedEvent {
  return event.type.case !== undefined && event.type.case !== "componentLocationChanged";
}

/** Spread into new messages: calling `create` for every event would be most of the cost of storing an advisory. */
const empty = { v1: create(v1.AdvisoryEventSchema), v2: create(v2.AdvisoryEventSchema) };

export function v2EventFromV1({ id, timestamp, status, findings, author, reviewer, issue, type }: SharedEvent): v2.AdvisoryEvent {
  return {
    ...empty.v2,
    uid: id,
    findings,
    author,
    reviewer,
    // The two enums have the same numbers and differ only in their names.
    reviewState: status as number as v2.ReviewState,
    ...(timestamp && { createTime: timestamp }),
    ...(issue !== undefined && { issue }),
    type: v2TypeOf(type),
  };
}

export function v1EventFromV2({
  uid,
  createTime,
  reviewState,
  findings,
  author,
  reviewer,
  issue,
  type,
}: v2.AdvisoryEvent): v1.AdvisoryEvent {
  return {
    ...empty.v1,
    id: uid,
    findings,
    author,
    reviewer,
    status: reviewState as number as v1.ReviewStatus,
    ...(createTime && { timestamp: createTime }),
    ...(issue !== undefined && { issue }),
    type: v1TypeOf(type),
  };
}

// The payloads of both versions are the same, except for the names of two fields of ScanV1 and of the enum's values.

function v2TypeOf(type: SharedType): TypeOfV2 {
  if (type.case !== "detection") return changeTypeName(type, payloads.v2) as TypeOfV2;
  const how = type.value.type;
  if (how.case !== "scanv1")
    return { case: "detection", value: create(v2.AdvisoryEvent_DetectionSchema, { type: changeTypeName(how, payloads.v2) as never }) };
  const { $typeName: _, subpackageName: subpackage, componentName: component, ...same } = how.value;
  const scan = create(v2.AdvisoryEvent_Detection_ScanV1Schema, { ...same, subpackage, component });
  return { case: "detection", value: create(v2.AdvisoryEvent_DetectionSchema, { type: { case: "scanv1", value: scan } }) };
}

function v1TypeOf(type: TypeOfV2): TypeOfV1 {
  if (type.case !== "detection") return changeTypeName(type, payloads.v1) as TypeOfV1;
  const how = type.value.type;
  if (how.case !== "scanv1")
    return { case: "detection", value: create(v1.AdvisoryEvent_DetectionSchema, { type: changeTypeName(how, payloads.v1) as never }) };
  const { $typeName: _, subpackage: subpackageName, component: componentName, ...same } = how.value;
  const scan = create(v1.AdvisoryEvent_Detection_ScanV1Schema, { ...same, subpackageName, componentName });
  return { case: "detection", value: create(v1.AdvisoryEvent_DetectionSchema, { type: { case: "scanv1", value: scan } }) };
}

const payloads = { v1: payloadsOf(v1), v2: payloadsOf(v2) };

function payloadsOf(version: typeof v1 | typeof v2) {
  return {
    fixed: version.AdvisoryEvent_FixedSchema,
    falsePositiveDetermination: version.AdvisoryEvent_FalsePositiveDeterminationSchema,
    analysisNotPlanned: version.AdvisoryEvent_AnalysisNotPlannedSchema,
    fixNotPlanned: version.AdvisoryEvent_FixNotPlannedSchema,
    pendingUpstreamFix: version.AdvisoryEvent_PendingUpstreamFixSchema,
    truePositiveDetermination: version.AdvisoryEvent_TruePositiveDeterminationSchema,
    patched: version.AdvisoryEvent_PatchedSchema,
    nvdapi: version.AdvisoryEvent_Detection_NVDAPISchema,
    manual: version.AdvisoryEvent_Detection_ManualSchema,
  };
}

function changeTypeName(type: { case: string | undefined; value?: object | undefined }, to: ReturnType<typeof payloadsOf>) {
  if (type.case === undefined) return { case: undefined };
  const { typeName } = to[type.case as keyof typeof to];
  return { case: type.case, value: { ...type.value, $typeName: typeName } };
}
