/** Calls of evented operations that succeed, from the samples. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { ContractOperation } from "../harness/contract.ts";
import { parse, textOf } from "../harness/json.ts";
import { createParent, createResource, type EventedCall, fieldOf, hasMethod, methodOf, type ResourceSample } from "../harness/samples.ts";
import { createInV1, deleteInV1, isInVersionOne, methodInV1, type SampleInVersionOne, uidInV1, updateInV1 } from "../harness/samples-v1.ts";
import type { World } from "../harness/world.ts";
import { operationSamples, resources } from "./samples.ts";

const WRITES = ["Create", "Update", "Delete"] as const;
type Write = (typeof WRITES)[number];

/** Prepares the world and describes a call of the operation that succeeds. */
export async function succeedingCall(world: World, operation: ContractOperation): Promise<EventedCall> {
  const special = operationSamples.get(operation.name)?.event;
  if (special !== undefined) return special.succeeding(world);
  const { sample, write, isV1 } = standardWriteOf(operation);
  const parent = await createParent(world, sample, await world.group(world.orgUid));
  if (isV1 && isInVersionOne(sample)) return callInV1(world, sample, write, parent);
  if (write === "Create") {
    const request = { parent, [fieldOf(sample)]: await sample.body(world, parent, "before") };
    return { request, ...eventOf(sample, write, (answer) => textOf(answer.uid)) };
  }
  const uid = textOf(parse((await createResource(world, sample, parent, "before")).text).uid);
  if (write === "Delete") return { request: { uid }, ...eventOf(sample, write, () => uid) };
  const change = await sample.change(world, parent);
  const request = { [fieldOf(sample)]: { ...change, uid }, updateMask: Object.keys(change).join(",") };
  return { request, ...eventOf(sample, write, (answer) => textOf(answer.uid)) };
}

async function callInV1(world: World, sample: SampleInVersionOne, write: Write, parent: string): Promise<EventedCall> {
  const body = await sample.body(world, parent, "before");
  if (write === "Create")
    return { request: createInV1(sample, parent, body), ...eventOf(sample, write, (answer) => uidInV1(sample, answer)) };
  const uid = textOf(parse((await createResource(world, sample, parent, "before")).text).uid);
  if (write === "Delete") return { request: deleteInV1(sample, uid), ...eventOf(sample, write, () => uid) };
  return { request: updateInV1(sample, uid, await sample.change(world, parent)), ...eventOf(sample, write, () => uid) };
}

function eventOf(sample: ResourceSample, write: Write, uidOf: (answer: JsonObject) => string): Omit<EventedCall, "request"> {
  return {
    subject: uidOf,
    group: (answer) => sample.eventGroup(uidOf(answer), write),
    extensions: (answer) => sample.eventExtensions(uidOf(answer)),
  };
}

/** The sample and the verb of an operation that is the Create, Update or Delete of a resource. */
export function standardWriteOf({ name, method }: ContractOperation): { sample: ResourceSample; write: Write; isV1: boolean } {
  for (const sample of resources) {
    const write = WRITES.find((each) => hasMethod(sample, each) && methodOf(sample, each) === method);
    if (write !== undefined) return { sample, write, isV1: false };
    const inV1 = isInVersionOne(sample) ? WRITES.find((each) => methodInV1(sample, each) === method) : undefined;
    if (inV1 !== undefined) return { sample, write: inV1, isV1: true };
  }
  throw new Error(`${name} emits an event, but no sample says how to call it`);
}
