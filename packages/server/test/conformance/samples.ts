/** The samples of all domains. A resource or operation is added to the samples of its domain, and only a new domain here. */
import { after } from "node:test";
import * as advisories from "../advisories/samples.ts";
import * as auditing from "../auditing/samples.ts";
import * as events from "../events/samples.ts";
import { operationName } from "../harness/contract.ts";
import type { ServerOptions } from "../harness/harness.ts";
import type { OperationSample, ResourceSample } from "../harness/samples.ts";
import { assertPortable, recordStatements } from "../harness/sql-features.ts";
import { describeOnStores, startWorld, type World } from "../harness/world.ts";
import * as iam from "../iam/samples.ts";
import * as libraries from "../libraries/samples.ts";
import * as registry from "../registry/samples.ts";

/** Every form of every resource. */
export const samples: readonly ResourceSample[] = [iam, registry, events, advisories].flatMap((domain) => domain.resourceSamples);

/** The first form of every resource. */
export const resources: readonly ResourceSample[] = samples.filter(
  ({ kind }, index) => samples.findIndex((other) => other.kind === kind) === index,
);

/** By the full name of the operation. */
export const operationSamples: ReadonlyMap<string, OperationSample> = new Map(
  [iam, registry, libraries, events, advisories, auditing]
    .flatMap((domain) => domain.operationSamples)
    .map((sample) => [operationName(sample.method), sample]),
);

/** Starts a world whose owner may create, read, change and delete all samples. */
export async function startSampleWorld(options: Omit<ServerOptions, "clock"> = {}): Promise<World> {
  const world = await startWorld(options);
  for (const sample of resources) await sample.prepareOrganization(world, world.orgUid);
  return world;
}

/** Defines the tests for each store, with one such world per store, and checks the SQL that all of them sent. */
export function describeWithSamples(title: string, define: (world: World) => void): void {
  const sent = recordStatements();
  describeOnStores(title, (store) => startSampleWorld({ store }), define);
  after(() => assertPortable(sent));
}
