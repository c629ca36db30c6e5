/** What registry traffic tells subscribers: tags moved, manifests pushed, content pulled. Bodies of pushes and pulls are plain JSON. */
import { create as createMessage, type DescMethodUnary, getOption, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { events, http } from "@holt/api";
import { type Repo, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { DeleteTagRequestSchema, type Tag, TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import type { WriteDb } from "../../db/store.ts";
import { parentOf } from "../../lib/uid.ts";
import { appendEvent, appendPlainEvents, type EventNames, type Happening, type PlainEvent } from "../../outbox/outbox.ts";

export interface RegistryNames extends EventNames {
  /** Under which clients reach the registry: source of its events, and what its tokens are for. */
  readonly registryHost: string;
}

/** Who did it, from where, and by which name of the repository. */
export interface Origin {
  readonly repository: string;
  readonly remoteAddress: string;
  readonly userAgent: string;
  readonly actor: NonNullable<Happening["actor"]>;
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
  readonly digest: string;
  readonly mediaType: string;
  readonly tag: string | undefined;
  readonly previousDigest: string | undefined;
  readonly origin: Origin;
  readonly now: Date;
}

/** As the management API does for the same change: subscribers need not know which way it came. */
export function appendTagCreated(db: WriteDb, tag: Tag, { actor }: Origin, now: Date, names: EventNames): Promise<void> {
  return appendApiEvent(db, TagsService.method.createTag, tag, tag, { actor, now }, names);
}

export function appendTagDeleted(db: WriteDb, uid: string, { actor }: Origin, now: Date, names: EventNames): Promise<void> {
  const request = createMessage(DeleteTagRequestSchema, { uid });
  return appendApiEvent(db, TagsService.method.deleteTag, request, createMessage(EmptySchema), { actor, now }, names);
}

export function appendRepoCreated(db: WriteDb, repo: Repo, { actor }: Origin, now: Date, names: EventNames): Promise<void> {
  return appendApiEvent(db, ReposService.method.createRepo, repo, repo, { actor, now }, names);
}

function appendApiEvent(
  db: WriteDb,
  method: DescMethodUnary,
  request: Message,
  response: Message,
  { actor, now }: Pick<Happening, "actor" | "now">,
  names: EventNames,
): Promise<void> {
  const { type } = getOption(method, events);
  const path = getOption(method, http).pattern.value as string;
  return appendEvent(db, { method, type, audience: "customer", path, alias: undefined, request, response, actor, now }, names);
}

export function appendPush(db: WriteDb, push: Push, names: RegistryNames): Promise<void> {
  const { digest, tag, previousDigest, mediaType, origin } = push;
  const image = `${names.registryHost}/${origin.repository}`;
  const extensions = { image: tag === undefined ? image : `${image}:${tag}`, digest: `${image}@${digest}`, mediatype: mediaType };
  const body = {
    ...bodyOf(push),
    ...(tag !== undefined && { tag }),
    ...(previousDigest !== undefined && { tag_previous_digest: previousDigest }),
    type: "manifest",
  };
  return appendPlainEvents(db, [eventOf("registry.push.v1", push, body, extensions, names)], names);
}

/** Many at once: what pulls cost is spread over them. */
export function appendPulls(db: WriteDb, pulls: readonly Pull[], names: RegistryNames): Promise<void> {
  const all = pulls.map((pull) => {
    const { tag, method, type } = pull;
    return eventOf("registry.pull.v1", pull, { ...bodyOf(pull), ...(tag !== undefined && { tag }), method, type }, {}, names);
  });
  return appendPlainEvents(db, all, names);
}

function bodyOf({ repoUid, digest, origin, now }: Pull | Push) {
  return {
    repository: origin.repository,
    repo_id: repoUid,
    digest,
    // A civil time in UTC with microseconds and without a zone, as its readers parse it.
    when: now.toISOString().replace("Z", "000"),
    location: "",
    remote_address: origin.remoteAddress,
    user_agent: origin.userAgent,
  };
}

function eventOf(
  type: string,
  { repoUid, origin, now }: Pull | Push,
  body: unknown,
  extensions: Record<string, string>,
  { registryHost: source }: RegistryNames,
): PlainEvent {
  return { type, source, subject: repoUid, group: parentOf(repoUid), extensions, actor: origin.actor, body, now };
}
