/**
 * Converts a stored event of an advisory to the event of the published documents (platform.advisory.v2), both as JSON
 * objects. Pure.
 */

type Json = Readonly<Record<string, unknown>>;

/** An event in the stored body of an advisory: JSON of version 2. */
export interface StoredEvent {
  readonly createTime: string;
  readonly reviewState: string;
  readonly [payload: string]: unknown;
}

/** Payloads that are the same in both messages. */
const SAME = ["truePositiveDetermination", "falsePositiveDetermination", "analysisNotPlanned", "fixNotPlanned", "pendingUpstreamFix"];

/**
 * Keys in the order of the contract. Undefined for events that are not published: those not approved, and those of a
 * type that documents do not have.
 */
export function documentEventOf(event: StoredEvent): Json | undefined {
  const { createTime: timestamp, reviewState, fixed, detection } = event;
  if (reviewState !== "REVIEW_STATE_APPROVED") return undefined;
  if (fixed !== undefined) return { timestamp, fixed: fixedOf(fixed as Json) };
  if (detection !== undefined) return { timestamp, detection: detectionOf(detection as Json) };
  const same = SAME.find((name) => event[name] !== undefined);
  return same === undefined ? undefined : { timestamp, [same]: event[same] };
}

function fixedOf({ fixedVersion = "", scannerVersion = "", grypeDbBuilt = "", grypeDbChecksum = "" }: Json): Json {
  return { fixedVersion, scannerVersion, grypeDbBuilt, grypeDbChecksum };
}

function detectionOf(detection: Json): Json {
  if (detection.scanv1 === undefined) return detection;
  const { scanner = "", subpackage = "", componentId = "", component = "", ...same } = detection.scanv1 as Json;
  return { scanv1: { scanner, subpackageName: subpackage, componentId, componentName: component, ...same } };
}
