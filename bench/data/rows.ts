/**
 * Generates the rows of the benchmark's databases: one organization, a tree of groups, and identities throughout the
 * tree. Does not store them.
 */
import { create } from "@bufbuild/protobuf";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingSchema } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import type { Resource } from "../../packages/server/src/api/resource/define.ts";
import { groups } from "../../packages/server/src/iam/api/groups.ts";
import { identities } from "../../packages/server/src/iam/api/identities.ts";
import { roleBindings } from "../../packages/server/src/iam/api/role-bindings.ts";
import { builtInRoles } from "../../packages/server/src/iam/grants/built-in-roles.ts";
import { timestampFromDate } from "../../packages/server/src/lib/clock.ts";
import { ancestry, newUid, parentOf } from "../../packages/server/src/lib/uid.ts";

export type Row = Readonly<Record<string, string | number | Uint8Array | null>>;

/** The uids of a database and their tree. The rows themselves are generated one by one, because all of them would not fit in memory. */
export interface Plan {
  readonly organization: string;
  /** Groups below the organization, parents before their children. */
  readonly groups: readonly string[];
  /** For each identity in creation order, the index of its parent in `groups`; -1 for the organization. */
  readonly parents: Int32Array;
  /** Groups with exactly `TEAM_ROWS` identities below them. */
  readonly teams: readonly string[];
  /** Identities in the organization with role bindings in groups throughout the tree. */
  readonly operators: readonly string[];
}

const TEAM_ROWS = 1000;
const TEAMS = 20;
const TEAM_DEPTH = 4;
const TEAM_CHILDREN = 4;
const OPERATORS = 100;
const BINDINGS_PER_OPERATOR = 20;
/** Fraction of the groups at each depth; the organization itself has depth 1. */
const FRACTION_BY_DEPTH = [0, 0, 0.01, 0.05, 0.12, 0.2, 0.24, 0.19, 0.1, 0.06, 0.03];

/** @param rows number of identities; there are one fifth as many groups */
export function planRows(organization: string, rows: number): Plan {
  const byDepth = planGroups(organization, Math.max(Math.round(rows / 5), FRACTION_BY_DEPTH.length));
  const ordinaryGroups = byDepth.flat();
  const teams = rows < 10 * TEAMS * TEAM_ROWS ? [] : Array.from({ length: TEAMS }, () => newUid(anyOf(byDepth[TEAM_DEPTH - 1] ?? [])));
  const teamGroups = teams.flatMap((team) => [team, ...Array.from({ length: TEAM_CHILDREN }, () => newUid(team))]);
  const parents = Int32Array.from({ length: rows - OPERATORS }, (_, i) => {
    const index = Math.floor((i * (TEAM_CHILDREN + 1)) / TEAM_ROWS);
    return index < teamGroups.length ? ordinaryGroups.length + index : Math.floor(Math.random() * (ordinaryGroups.length + 1)) - 1;
  });
  const operators = Array.from({ length: OPERATORS }, () => newUid(organization));
  return { organization, groups: [...ordinaryGroups, ...teamGroups], parents: shuffle(parents), teams, operators };
}

/** Shuffles the parents, because the rows of a real group are created over time and are not adjacent in the table. */
function shuffle(values: Int32Array): Int32Array {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [values[i], values[j]] = [values[j] as number, values[i] as number];
  }
  return values;
}

function planGroups(organization: string, total: number): string[][] {
  const byDepth: string[][] = [[], [organization]];
  for (let depth = 2; depth < FRACTION_BY_DEPTH.length; depth++) {
    const number = Math.max(Math.round(total * (FRACTION_BY_DEPTH[depth] ?? 0)), 1);
    byDepth.push(Array.from({ length: number }, () => newUid(anyOf(byDepth[depth - 1] ?? []))));
  }
  byDepth[1] = [];
  return byDepth;
}

export function anyOf<T>(list: readonly T[]): T {
  return list[Math.floor(Math.random() * list.length)] as T;
}

export function* groupRows({ groups: all }: Plan): Iterable<Row> {
  for (const [i, uid] of all.entries()) {
    const time = timeOf(i / all.length);
    const group = create(GroupSchema, { uid, name: randomName(), description: "A folder of the benchmark", ...timesOf(time) });
    yield rowOf(groups, group, time);
  }
}

export function* identityRows({ organization, groups: all, parents, operators }: Plan): Iterable<Row> {
  for (const uid of operators) yield identityRow(uid, timeOf(0));
  for (const [i, parent] of parents.entries()) yield identityRow(newUid(all[parent] ?? organization), timeOf(i / parents.length));
}

function identityRow(uid: string, time: Date): Row {
  const name = randomName();
  const claimMatch = {
    iss: { case: "issuer", value: "https://token.actions.example.com" },
    sub: { case: "subject", value: `repo:example/${name}:ref:refs/heads/main` },
  } as const;
  const description = "A workload of the benchmark";
  const relationship = { case: "claimMatch", value: claimMatch } as const;
  const identity = create(IdentitySchema, {
    uid,
    name,
    description,
    relationship,
    lastSeenTime: timestampFromDate(time),
    ...timesOf(time),
  });
  return rowOf(identities, identity, time);
}

export function* bindingRows({ groups: all, operators }: Plan): Iterable<Row> {
  const roleUid = builtInRoles.find((role) => role.name === "viewer")?.uid ?? "";
  // Groups are ordered by depth. Even steps through them never bind an operator twice in the same group.
  const step = Math.floor(all.length / BINDINGS_PER_OPERATOR);
  for (const identityUid of operators) {
    const first = Math.floor(Math.random() * step);
    for (let i = 0; i < BINDINGS_PER_OPERATOR; i++) {
      const time = timeOf(1);
      const binding = create(RoleBindingSchema, { uid: newUid(all[first + i * step] ?? ""), identityUid, roleUid, ...timesOf(time) });
      yield rowOf(roleBindings, binding, time);
    }
  }
}

export function rowOf(resource: Resource, message: { uid: string; name?: string }, time: Date): Row {
  const { uid, name = "" } = message;
  const timestamp = time.toISOString();
  const body = resource.encode(message as never);
  return { uid, parent: parentOf(uid), name, create_time: timestamp, update_time: timestamp, ...resource.columns(message as never), body };
}

/** Rows of resource_count for all planned rows, including the counts above the organization. */
export function* countRows({ organization, groups: all, parents, operators }: Plan, bindings: readonly Row[]): Iterable<Row> {
  const direct = new Map([[organization, operators.length]]);
  for (const parent of parents) {
    const group = all[parent] ?? organization;
    direct.set(group, (direct.get(group) ?? 0) + 1);
  }
  yield* countsOf("identity", direct);
  direct.clear();
  for (const group of all) direct.set(parentOf(group), (direct.get(parentOf(group)) ?? 0) + 1);
  yield* countsOf("group", direct);
  direct.clear();
  for (const { parent } of bindings) direct.set(String(parent), (direct.get(String(parent)) ?? 0) + 1);
  yield* countsOf("role_binding", direct);
}

export function* countsOf(kind: string, direct: ReadonlyMap<string, number>): Iterable<Row> {
  const below = new Map<string, number>();
  for (const [group, number] of direct) {
    for (const above of [...ancestry(group), "/"]) below.set(above, (below.get(above) ?? 0) + number);
  }
  for (const [uid, number] of below) yield { group_uid: uid, kind, slot: 0, below: number, direct: direct.get(uid) ?? 0 };
}

export function timesOf(time: Date) {
  return { createTime: timestampFromDate(time), updateTime: timestampFromDate(time) };
}

const DAY_MS = 24 * 60 * 60 * 1000;
const SPREAD_DAYS = 730;

/** @param progress from `SPREAD_DAYS` ago (0) to yesterday (1) */
export function timeOf(progress: number): Date {
  return new Date(Date.now() - Math.floor((1 - progress) * SPREAD_DAYS * DAY_MS) - DAY_MS);
}

const FIRST = [
  "audit",
  "billing",
  "build",
  "catalog",
  "checkout",
  "data",
  "edge",
  "fraud",
  "ledger",
  "mail",
  "metrics",
  "orders",
  "payments",
  "search",
  "web",
];
const SECOND = [
  "agent",
  "api",
  "batch",
  "cache",
  "deploy",
  "gateway",
  "importer",
  "proxy",
  "runner",
  "scanner",
  "scheduler",
  "sync",
  "worker",
];

export function randomName(): string {
  const number = Math.floor(Math.random() * 0x1000000).toString(36);
  return `${anyOf(FIRST)}-${anyOf(SECOND)}-${number}`;
}
