/** The content of an audit entry, from the facts of a change or a refusal to the text that is stored and hashed. Pure. */
import { type DescMessage, toJsonString } from "@bufbuild/protobuf";
import type { ResourceChange } from "../db/store.ts";
import { messageFromJson } from "../lib/proto-json.ts";
import { holdsSecrets, redacted } from "../lib/redact.ts";
import { changedFields } from "./changed-fields.ts";

export interface AuditFacts {
  readonly now: Date;
  readonly action: string;
  /** Uid; empty for an anonymous caller. */
  readonly actor: string;
  /** Claims of the person or workload behind the identity. */
  readonly onBehalfOf?: Readonly<Record<string, string>> | undefined;
  readonly remoteAddress?: string | undefined;
  readonly protocol?: string | undefined;
  readonly client?: string | undefined;
  readonly target: string;
  /** Uid of the root of what the entry is about. Roots that are not organizations have their entries in the server's chain. */
  readonly organization: string;
  readonly outcome: string;
  /** The reason of a refusal. */
  readonly message?: string | undefined;
  readonly requestId?: string | undefined;
  readonly changes?: readonly ResourceChange[];
  /** The request as JSON without secrets, for changes that are not of a resource. */
  readonly request?: string | undefined;
  /** Equal refusals that the entry stands for, if there were several. */
  readonly count?: number;
}

/** The members that filters know. They come first in the text. */
export interface EntryHead {
  readonly time: string;
  /** The root of the target; the chain may be that of the server. */
  readonly organization: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly remote_address: string;
  readonly request_id: string;
}

export interface EntryContent extends EntryHead {
  readonly details: AuditDetails;
}

/** Members that are only shown. Absent members are left out. */
export interface AuditDetails {
  readonly on_behalf_of?: Readonly<Record<string, string>>;
  readonly protocol?: string;
  readonly client?: string;
  readonly message?: string;
  readonly count?: number;
  /** Names what was too large to be kept. */
  readonly omitted?: string;
  readonly changes?: readonly AuditedChange[];
  readonly request?: unknown;
}

/** The fields of a resource that differ. A new or deleted resource has all its fields. */
export interface AuditedChange {
  readonly resource: string;
  readonly uid: string;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

const MAX_TEXT_LENGTH = 1024;
/** In characters, of all changes of an entry. A batch may change hundreds of resources of 64 KiB. */
const MAX_CHANGES_LENGTH = 512 * 1024;
/** Resources that an entry names if their changes are longer. The deletion of a group can delete any number of bindings. */
const MAX_NAMED_RESOURCES = 5_000;
const MAX_REQUEST_LENGTH = 64 * 1024;

/** Bodies of new and deleted resources are inserted as they are stored, without decoding. */
export function contentOf(facts: AuditFacts): string {
  const { changes = [], request } = facts;
  const listed = textsOf(changes);
  const isTooLong = listed === undefined;
  const parts = listed ?? namesOf(changes);
  const hasLongRequest = request !== undefined && request.length > MAX_REQUEST_LENGTH;
  const omitted = isTooLong ? "fields" : hasLongRequest ? "request" : undefined;
  const fixed = JSON.stringify(detailsOf(facts, omitted)).slice(0, -1);
  const more = [];
  if (changes.length > 0) more.push(`"changes":[${parts}]`);
  if (request !== undefined && !hasLongRequest) more.push(`"request":${request}`);
  const comma = fixed.length > 1 && more.length > 0 ? "," : "";
  return `${JSON.stringify(headOf(facts)).slice(0, -1)}${DETAILS}${fixed}${comma}${more.join(",")}}}`;
}

/** Undefined if they are too long. */
function textsOf(changes: readonly ResourceChange[]): string | undefined {
  const texts: string[] = [];
  let length = 0;
  for (const change of changes) {
    const text = changeText(change);
    length += text.length + 1;
    if (length > MAX_CHANGES_LENGTH) return undefined;
    texts.push(text);
  }
  return texts.join(",");
}

function namesOf(changes: readonly ResourceChange[]): string {
  const named = changes.slice(0, MAX_NAMED_RESOURCES);
  return named.map(({ kind, uid }) => JSON.stringify({ resource: kind, uid })).join(",");
}

/** Quotes inside of a string are escaped, so this text is only at the end of the head. */
const DETAILS = ',"details":';

/** Reads only the beginning of a text. @throws SyntaxError for a text that was damaged */
export function parseHead(content: string): EntryHead {
  const end = content.indexOf(DETAILS);
  return JSON.parse(end < 0 ? content : `${content.slice(0, end)}}`) as EntryHead;
}

function headOf({ now, action, actor, target, organization, outcome, remoteAddress = "", requestId = "" }: AuditFacts): EntryHead {
  return {
    time: now.toISOString(),
    organization: clean(organization),
    actor,
    action,
    target: clean(target),
    outcome,
    remote_address: clean(remoteAddress),
    request_id: clean(requestId),
  };
}

function detailsOf({ onBehalfOf, protocol, client, message, count }: AuditFacts, omitted: string | undefined): AuditDetails {
  return {
    ...(onBehalfOf !== undefined && Object.keys(onBehalfOf).length > 0 && { on_behalf_of: onBehalfOf }),
    ...(protocol !== undefined && { protocol }),
    ...(client !== undefined && client !== "" && { client: clean(client) }),
    ...(message !== undefined && { message: clean(message) }),
    ...(count !== undefined && count > 1 && { count }),
    ...(omitted !== undefined && { omitted }),
  };
}

/** Callers must not make an entry large. */
function clean(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? text.slice(0, MAX_TEXT_LENGTH) : text;
}

function changeText({ kind, uid, schema, before, after }: ResourceChange): string {
  const old = before === undefined ? undefined : withoutSecrets(schema, before);
  const young = after === undefined ? undefined : withoutSecrets(schema, after);
  const start = `{"resource":"${kind}","uid":"${uid}"`;
  if (old === undefined) return young === undefined ? `${start}}` : `${start},"after":${young}}`;
  if (young === undefined) return `${start},"before":${old}}`;
  const changed = changedFields(old, young);
  return `${start},"before":${changed.before},"after":${changed.after}}`;
}

function withoutSecrets(schema: DescMessage | undefined, text: string): string {
  if (schema === undefined || !holdsSecrets(schema)) return text;
  return toJsonString(schema, redacted(schema, messageFromJson(schema, text)));
}
