/** Events of advisories as the two versions of the API show them; one kind of them is of version 1 alone. Nothing is lost on the way there and back. Pure. */
import { create } from "@bufbuild/protobuf";
import * as v1 from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import * as v2 from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";

type TypeOfV1 = v1.AdvisoryEvent["type"];
type TypeOfV2 = v2.AdvisoryEvent["type"];
type TypeOfBoth = Exclude<TypeOfV1, { case: undefined } | { case: "componentLocationChanged" }>;
type EventOfBoth = v1.AdvisoryEvent & { type: TypeOfBoth };

/** Whether version 2 knows this kind of event. */
export function isOfBoth(event: v1.AdvisoryEvent): event is EventOfBoth {
  return event.type.case !== undefined && event.type.case !== "componentLocationChanged";
}

/** To be spread: `create` looks at every field of every event, which is most of what it costs to store an advisory. */
const empty = { v1: create(v1.AdvisoryEventSchema), v2: create(v2.AdvisoryEventSchema) };

export function v2EventFromV1({ id, timestamp, status, findings, author, reviewer, issue, type }: EventOfBoth): v2.AdvisoryEvent {
  return {
    ...empty.v2,
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

// But for the names of two fields of a scan, and of the enum's values, the payloads are the same.

function v2TypeOf(type: TypeOfBoth): TypeOfV2 {
  if (type.case !== "detection") return retyped(type, payloads.v2) as TypeOfV2;
  const how = type.value.type;
  if (how.case !== "scanv1")
    return { case: "detection", value: create(v2.AdvisoryEvent_DetectionSchema, { type: retyped(how, payloads.v2) as never }) };
  const { $typeName: _, subpackageName: subpackage, componentName: component, ...same } = how.value;
  const scan = create(v2.AdvisoryEvent_Detection_ScanV1Schema, { ...same, subpackage, component });
  return { case: "detection", value: create(v2.AdvisoryEvent_DetectionSchema, { type: { case: "scanv1", value: scan } }) };
}

function v1TypeOf(type: TypeOfV2): TypeOfV1 {
  if (type.case !== "detection") return retyped(type, payloads.v1) as TypeOfV1;
  const how = type.value.type;
  if (how.case !== "scanv1")
    return { case: "detection", value: create(v1.AdvisoryEvent_DetectionSchema, { type: retyped(how, payloads.v1) as never }) };
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

function retyped(type: { case: string | undefined; value?: object | undefined }, to: ReturnType<typeof payloadsOf>) {
  if (type.case === undefined) return { case: undefined };
  const { typeName } = to[type.case as keyof typeof to];
  return { case: type.case, value: { ...type.value, $typeName: typeName } };
}
