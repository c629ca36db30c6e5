/** The service of the audit log: lists, exports and verifies the chain of an organization, or that of the server. */
import { create, type Message } from "@bufbuild/protobuf";
import {
  AuditService,
  ExportAuditEntriesResponseSchema,
  type ListAuditEntriesRequest,
  ListAuditEntriesResponseSchema,
  VerifyAuditChainResponse_Problem as Problem,
  VerifyAuditChainResponse_Signature as Signature,
  type VerifyAuditChainResponse,
  VerifyAuditChainResponseSchema,
} from "@holt/api/gen/holt/v1/audit_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { Call } from "../../api/call/call.ts";
import { implement, read } from "../../api/call/implement.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import type { Store } from "../../db/store.ts";
import { isStaffAt } from "../../iam/grants/staff.ts";
import type { SigningKeys } from "../../iam/tokens/signing-keys.ts";
import { parseTime } from "../../lib/clock.ts";
import { invalidArgument, notFound, permissionDenied } from "../../lib/errors.ts";
import { isUid, rootOf } from "../../lib/uid.ts";
import { readChainEntries } from "../chain/chain-entries.ts";
import { lastJws } from "../chain/checkpoint.ts";
import { type ChainResult, verifyChain } from "../chain/read-chain.ts";
import type { Link, ProblemKind } from "../chain/verify.ts";
import { lineOf } from "../entry-line.ts";
import { entryMessage } from "./entry-message.ts";
import { type EntryFilter, findEntries } from "./find-entries.ts";
import { openPageEnd, sealPageEnd } from "./page-end.ts";

export interface AuditCollaborators {
  readonly store: Store;
  readonly pageTokens: PageTokens;
  readonly keys: SigningKeys;
  readonly bootstrapOwner: string;
}

const LIST = capabilitySet([Capability.CAP_AUDIT_LIST]);
const MAX_LINES = 1000;
const MAX_VERIFIED_PER_CALL = 5000;

export function auditService(collaborators: AuditCollaborators) {
  const { store, pageTokens, keys } = collaborators;
  const findKey = async (kid: string) => (await keys.byKid(kid))?.publicKey;
  return implement(
    AuditService,
    {
      listAuditEntries: read(async (request, call) => {
        await assertMayRead(request.parent, call, collaborators);
        const { limit } = parsePageRequest({ pageSize: request.pageSize, skip: 0 });
        const filter = filterOf(request);
        const isDescending = parseOrder(request.orderBy);
        const binding = bindingOf(call, filter, isDescending);
        const after = openPageEnd(request.pageToken, binding, call.now, pageTokens);
        const { entries, next } = await findEntries(call.db, filter, { isDescending, after, limit });
        const nextPageToken = next === undefined ? "" : sealPageEnd(next, binding, call.now, pageTokens);
        return create(ListAuditEntriesResponseSchema, { entries: entries.map(entryMessage), nextPageToken });
      }),

      exportAuditEntries: read(async ({ parent, after, pageSize }, call) => {
        await assertMayRead(parent, call, collaborators);
        assertOrganization(parent);
        if (after < 0n) throw invalidArgument("after", "after must not be negative");
        if (pageSize < 0) throw invalidArgument("page_size", "page_size must not be negative");
        const limit = pageSize === 0 ? MAX_LINES : Math.min(pageSize, MAX_LINES);
        const { entries, hasMore } = await readChainEntries(call.db, parent, numberFrom(after), limit);
        const jws = hasMore ? undefined : await lastJws(call.db, parent);
        const lines = [...entries.map(lineOf), ...(jws === undefined ? [] : [JSON.stringify({ checkpoint: jws })])];
        const last = entries.at(-1)?.number;
        return create(ExportAuditEntriesResponseSchema, {
          lines: lines.map((line) => `${line}\n`).join(""),
          last: last === undefined ? after : BigInt(last),
          hasMore,
        });
      }),

      verifyAuditChain: read(async ({ parent, pageToken }, call) => {
        await assertMayRead(parent, call, collaborators);
        assertOrganization(parent);
        const binding = bindingOf(call, parent);
        const after = openToken(pageToken, binding, call, pageTokens);
        const range = { organization: parent, after, maxEntries: MAX_VERIFIED_PER_CALL };
        const result = await store.snapshot((db) => verifyChain(db, range, findKey));
        const isOver = result.isComplete || result.problem !== undefined;
        return verdictOf(result, isOver ? "" : sealToken(result.last, binding, call, pageTokens));
      }),
    },
    "Group",
  );
}

/** @throws PERMISSION_DENIED, NOT_FOUND. Staff of the installation also reads chains of the server and of deleted organizations. */
async function assertMayRead(parent: string, call: Call, { bootstrapOwner }: AuditCollaborators): Promise<void> {
  const { principal, access, db } = call;
  if (principal !== undefined && isStaffAt(rootOf(parent), principal, access, bootstrapOwner)) return;
  if (parent === "") throw permissionDenied("the audit log of the server is for staff of this installation; name a parent", {});
  if (!isUid(parent)) throw notFound("Group", parent.slice(0, 200));
  await assertHolds({ kind: "Group", uid: parent }, LIST, access, db);
}

function assertOrganization(parent: string): void {
  if (parent !== "" && parent !== rootOf(parent)) throw invalidArgument("parent", "parent must be an organization: each has one chain");
}

function filterOf(request: ListAuditEntriesRequest): EntryFilter {
  const { parent, actor, action, target, outcome, refused, remoteAddress, requestId, since, until } = request;
  if (action.slice(0, -1).includes("*")) throw invalidArgument("action", "action may have a * at its end only");
  const organization = rootOf(parent);
  return {
    organization,
    below: parent === organization ? undefined : parent,
    actor,
    action,
    target,
    outcome,
    refused,
    remoteAddress,
    requestId,
    since: since === undefined ? undefined : parseTime("since", since),
    until: until === undefined ? undefined : parseTime("until", until),
  };
}

/** The number of an entry. No chain has as many entries as the largest number that is exact here. */
function numberFrom(after: bigint): number {
  return Math.min(Number(after), Number.MAX_SAFE_INTEGER - 1);
}

function parseOrder(orderBy: string): boolean {
  const found = /^\s*number(?:\s+(asc|desc))?\s*$/.exec(orderBy === "" ? "number desc" : orderBy);
  if (found === null) throw invalidArgument("order_by", 'order_by must be "number" or "number desc"');
  return found[1] === "desc";
}

function sealToken({ number, hash }: Link, binding: string, { now }: Call, tokens: PageTokens): string {
  return tokens.seal({ key: String(number), uid: hash, skipped: 0 }, binding, now);
}

function openToken(token: string, binding: string, { now }: Call, tokens: PageTokens): Link | undefined {
  const position = token === "" ? undefined : tokens.open(token, binding, now);
  return position && { number: Number(position.key), hash: position.uid };
}

const PROBLEMS: Readonly<Record<ProblemKind, Problem>> = {
  changed: Problem.CHANGED,
  removed: Problem.REMOVED,
  inserted: Problem.INSERTED,
  reordered: Problem.REORDERED,
};
const SIGNATURES = { valid: Signature.VALID, "unknown key": Signature.UNKNOWN_KEY, invalid: Signature.INVALID } as const;

function verdictOf({ count, last, problem, checkpoint }: ChainResult, nextPageToken: string): VerifyAuditChainResponse & Message {
  return create(VerifyAuditChainResponseSchema, {
    verified: BigInt(count),
    last: BigInt(last.number),
    ...(problem !== undefined && {
      problem: PROBLEMS[problem.kind],
      badEntry: BigInt(problem.number),
      description: problem.description,
    }),
    ...(checkpoint !== undefined && { checkpoint: BigInt(checkpoint.number), signature: SIGNATURES[checkpoint.verdict] }),
    nextPageToken,
  });
}
