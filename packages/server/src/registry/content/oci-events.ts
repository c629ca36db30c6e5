/**
 * Appends the events of registry traffic: tags that moved, manifests that were pushed, content that was pulled, and
 * created repos and folders. The bodies of push and pull events are plain JSON.
 */
import { create as createMessage, getOption } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { events, http } from "@holt/api";
import { type Group, GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { type Repo, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { DeleteTagRequestSchema, type Tag, TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { isAnonymous } from "../../access/principal.ts";
import type { WriteDb } from "../../db/store.ts";
import { parentOf } from "../../lib/uid.ts";
import type { EventContexts } from "../../outbox/event-context.ts";
import {
  appendEvent,
  appendPlainEvents,
  appendSharedEvents,
  type EventedCall,
  type EventNames,
  type PlainEvent,
  type SharedEvent,
} from "../../outbox/outbox.ts";
import type { PullCountTable } from "../tables.ts";

export interface RegistryNames extends EventNames {
  /** The host under which clients reach the registry, with its port. It is also the audience of registry tokens. */
  readonly registryHost: string;
  /** Fields common to all events of a client's traffic. */
  readonly contexts: EventContexts;
}

/**
 * The source of registry events. It must be a URI-reference (CloudEvents §2.1). A plain name is a relative one, but a host
 * with a port needs the two slashes: otherwise its name is read as a scheme.
 */
function sourceOf(registryHost: string): string {
  return registryHost.includes(":") ? `//${registryHost}` : registryHost;
}

/** Who made a request, from which address, and by which name of the repository. */
export interface Origin {
  readonly repository: string;
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly actor: NonNullable<EventedCall["actor"]>;
}

export interface Pull {
  readonly repoUid: string;
  readonly type: "manifest" | "blob";
  readonly digest: string;
  readonly tag: string | undefined;
  readonly method: "GET" | "HEAD";
  readonly origin: Origin;
  readonly now: Date;
}

export interface Push {
  readonly repoUid: string;
  readonly repoName: string;
  readonly digest: string;
  readonly mediaType: string;
  readonly tag: string | undefined;
  readonly previousDigest: string | undefined;
  readonly origin: Origin;
  readonly now: Date;
}

/** The event is the same as that of the management API, so that subscribers need not distinguish the two. */
export function appendTagCreated(db: WriteDb, { tag, origin, now }: TagCreation, names: EventNames): Promise<void> {
  return appendApiEvent(db, { method: TagsService.method.createTag, request: tag, response: tag, actor: origin.actor, now }, names);
}

interface TagCreation {
  readonly tag: Tag;
  readonly origin: Origin;
  readonly now: Date;
}

export function appendTagDeleted(db: WriteDb, { uid, origin, now }: TagDeletion, names: EventNames): Promise<void> {
  const request = createMessage(DeleteTagRequestSchema, { uid });
  const response = createMessage(EmptySchema);
  return appendApiEvent(db, { method: TagsService.method.deleteTag, request, response, actor: origin.actor, now }, names);
}

interface TagDeletion {
  readonly uid: string;
  readonly origin: Pick<EventedCall, "actor">;
  readonly now: Date;
}

export function appendRepoCreated(db: WriteDb, { repo, origin, now }: RepoCreation, names: EventNames): Promise<void> {
  const method = ReposService.method.createRepo;
  return appendApiEvent(db, { method, request: repo, response: repo, actor: origin.actor, now }, names);
}

export function appendFolderCreated(db: WriteDb, { group, origin, now }: FolderCreation, names: EventNames): Promise<void> {
  const method = GroupsService.method.createGroup;
  return appendApiEvent(db, { method, request: group, response: group, actor: origin.actor, now }, names);
}

interface FolderCreation {
  readonly group: Group;
  readonly origin: Origin;
  readonly now: Date;
}

interface RepoCreation {
  readonly repo: Repo;
  readonly origin: Origin;
  readonly now: Date;
}

type ApiChange = Pick<EventedCall, "method" | "request" | "response" | "actor" | "now">;

function appendApiEvent(db: WriteDb, change: ApiChange, names: EventNames): Promise<void> {
  const { method } = change;
  const { type } = getOption(method, events);
  const path = getOption(method, http).pattern.value as string;
  return appendEvent(db, { ...change, type, audience: "customer", path, alias: undefined }, names);
}

export function appendPushes(db: WriteDb, pushes: readonly Push[], names: RegistryNames): Promise<void> {
  return appendSharedEvents(
    db,
    pushes.map((push) => pushEvent(push, names)),
    names,
  );
}

function pushEvent(push: Push, names: RegistryNames): SharedEvent {
  const { repoName, digest, tag, previousDigest, mediaType, origin, now } = push;
  const image = `${names.registryHost}/${origin.repository}`;
  const extensions = { image: tag === undefined ? image : `${image}:${tag}`, digest: `${image}@${digest}`, mediatype: mediaType };
  const body = {
    digest,
    when: timeOf(now.toISOString()),
    display_name: repoName,
    ...(tag !== undefined && { tag }),
    ...(previousDigest !== undefined && { tag_previous_digest: previousDigest }),
    type: "manifest",
  };
  return { ...createEvent("registry.push.v1", push, { body, extensions }, names), sharedBody: clientOf(push), body };
}

/** Appends the events of many pulls at once, which is cheaper per pull. The pulls of a client share most of their data. */
export function appendPulls(db: WriteDb, pulls: readonly Pull[], names: RegistryNames): Promise<void> {
  const all = pulls.map((pull): SharedEvent => {
    const { digest, tag, method, type, now } = pull;
    const body = { digest, when: timeOf(now.toISOString()), ...(tag !== undefined && { tag }), method, type };
    return { ...createEvent("registry.pull.v1", pull, { body, extensions: {} }, names), sharedBody: clientOf(pull), body };
  });
  return appendSharedEvents(db, all, names);
}

/** Appends one event for each count. Addresses and user agents are not part of it. */
export function appendPullCounts(db: WriteDb, counts: readonly PullCountTable[], names: RegistryNames & { now: Date }): Promise<void> {
  const { registryHost, now } = names;
  const source = sourceOf(registryHost);
  const all = counts.map((row): PlainEvent => {
    const { repo_uid: subject, repository, digest, tag, method, count } = row;
    const body = {
      repository,
      repo_id: subject,
      digest,
      ...(tag !== "" && { tag }),
      method,
      type: "manifest",
      count,
      when: timeOf(row.hour),
    };
    const claims = JSON.parse(row.claims) as Record<string, string>;
    const actor = isAnonymous({ uid: row.identity_uid }) ? undefined : { subject: row.identity_uid, claimsAt: () => claims };
    return { type: "registry.pull.hourly.v1", source, subject, group: parentOf(subject), actor, now, extensions: {}, body };
  });
  return appendPlainEvents(db, all, names);
}

/** UTC with microseconds and without a zone, which is what consumers parse. */
function timeOf(time: string): string {
  return time.replace("Z", "000");
}

/** The fields that all requests of a client to a repository have in common. */
function clientOf({ repoUid, origin }: Pull | Push) {
  const { repository, remoteAddress, userAgent } = origin;
  return { repository, repo_id: repoUid, location: "", remote_address: remoteAddress, user_agent: userAgent };
}

function createEvent(
  type: string,
  { repoUid, origin, now }: Pull | Push,
  content: Pick<PlainEvent, "body" | "extensions">,
  { registryHost }: RegistryNames,
): PlainEvent {
  const source = sourceOf(registryHost);
  return { type, source, subject: repoUid, group: parentOf(repoUid), actor: origin.actor, now, ...content };
}
