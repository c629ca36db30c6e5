/** Reads feeds over HTTP, and writes their advisories over the API. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  Advisories,
  type Advisory,
  type AdvisoryEventSchema,
  type AdvisorySchema,
  type AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import yauzl from "yauzl";
import { builtInRole } from "../iam/iam.ts";
import type { World } from "../world.ts";

export type Given = Partial<Omit<MessageInitShape<typeof AdvisorySchema>, "$typeName" | "events">> & { events?: readonly GivenEvent[] };
export type GivenEvent = Pick<Exclude<MessageInitShape<typeof AdvisoryEventSchema>, { $typeName: string }>, "type" | "status">;

export const fixedIn = (fixedVersion: string): GivenEvent => ({ type: { case: "fixed", value: { fixedVersion } } });
export const confirmed = (note = ""): GivenEvent => ({ type: { case: "truePositiveDetermination", value: { note } } });
export const refuted = (type: FalsePositive = 0, note = ""): GivenEvent => ({
  type: { case: "falsePositiveDetermination", value: { type, note } },
});
export const detected: GivenEvent = { type: { case: "detection", value: { type: { case: "manual", value: {} } } } };

/**
 * Replaces the world's owner by a robot with the owner's rights and those to write advisories. Unlike the owner, it can
 * sign in again.
 */
export async function allowWriting(world: World): Promise<void> {
  const { uid } = await world.robot(world.orgUid);
  for (const role of ["owner", "advisories.admin"]) await world.bind(uid, await builtInRole(world, role), world.orgUid);
  Object.assign(world.owner, await world.signIn(uid));
}

/**
 * Advances the clock beyond the margin within which changes are rendered again, so that later feeds are built from
 * later changes only.
 */
export async function later(world: World): Promise<void> {
  world.clock.advance(660_000);
  Object.assign(world.owner, await world.signIn(world.owner.uid));
}

/** Creates an advisory; by default about apk's openssl, with approved events. */
export function put(world: World, parentId: string, { events = [fixedIn("1.0-r0")], ...given }: Given): Promise<Advisory> {
  const advisory = {
    artifactType: "apk",
    artifactName: "openssl",
    artifactArchitecture: "x86_64",
    ...given,
    events: events.map(({ type, status = ReviewStatus.APPROVED }) => ({ type: type as never, status })),
  };
  return world.must(Advisories.method.create, { parentId, advisory });
}

export interface FeedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** @param token the empty string for an anonymous request */
export async function get(
  world: World,
  path: string,
  {
    token = world.owner.token,
    method = "GET",
    headers = {},
  }: { token?: string | undefined; method?: string; headers?: Record<string, string> } = {},
): Promise<FeedAnswer> {
  const authorization = token === "" ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${world.baseUrl}/holt/v1/feeds/${path}`, { method, headers: { ...authorization, ...headers } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

export async function getJson<T>(world: World, path: string): Promise<T> {
  const { status, bytes } = await get(world, path);
  if (status !== 200) throw new Error(`${path}: ${status} ${bytes.toString()}`);
  return JSON.parse(bytes.toString()) as T;
}

/** The content of each file by its name. @param token the empty string for an anonymous request */
export async function getZip(world: World, path: string, token?: string): Promise<Map<string, string>> {
  const { status, bytes } = await get(world, path, { token });
  if (status !== 200) throw new Error(`${path}: ${status} ${bytes.toString()}`);
  const files = new Map<string, string>();
  const zip = await yauzl.fromBufferPromise(bytes, { lazyEntries: true, strictFileNames: true, validateEntrySizes: true });
  for await (const entry of zip.eachEntry()) {
    const stream = await zip.openReadStreamPromise(entry);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    if (files.has(entry.fileName)) throw new Error(`${entry.fileName} is twice in ${path}`);
    files.set(entry.fileName, Buffer.concat(chunks).toString());
  }
  return files;
}
