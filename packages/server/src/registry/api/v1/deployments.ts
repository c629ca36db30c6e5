/** Handlers of version 1 for the deployment of a repo: the Helm charts that deploy its image. A repo has at most one. */
import { create } from "@bufbuild/protobuf";
import { type Deployment, DeploymentSchema, type HelmChart, type Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { type Handlers, read, write } from "../../../api/call/implement.ts";
import { assertNone } from "../../../api/resource/names.ts";
import type { ReadDb, WriteDb } from "../../../db/store.ts";
import { alreadyExists, type FieldViolation, notFound } from "../../../lib/errors.ts";
import { compileJsonEncoder, messageFromJson } from "../../../lib/proto-json.ts";
import { lockRepo } from "../../content/lock-repo.ts";

const MAX_CHARTS = 100;
/** Characters of each text of a chart. */
const MAX_TEXT = 2048;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const encode = compileJsonEncoder(DeploymentSchema);

export const deploymentHandlers = {
  createDeployment: write(async ({ parentId, charts }, { db }) => {
    assertCharts(charts);
    await lockExisting(parentId, db);
    if ((await findDeployment(parentId, db)) !== undefined)
      throw alreadyExists("Deployment", parentId, "the repo has a deployment; update it instead");
    return store(create(DeploymentSchema, { id: parentId, charts }), db);
  }),

  updateDeployment: write(async ({ repoId, charts }, { db }) => {
    assertCharts(charts);
    await lockExisting(repoId, db);
    return store(create(DeploymentSchema, { id: repoId, charts }), db);
  }),

  // Clients take a deployment without charts for a deleted one, and NOT_FOUND for an error, also of a repo that is gone.
  getDeployment: read(async ({ repoId }, { db }) => (await findDeployment(repoId, db)) ?? create(DeploymentSchema, { id: repoId })),
} satisfies Handlers<typeof Registry>;

async function lockExisting(uid: string, db: WriteDb): Promise<void> {
  if (!(await lockRepo(db, uid))) throw notFound("Repo", uid);
}

async function findDeployment(repoUid: string, db: ReadDb): Promise<Deployment | undefined> {
  const row = await db.selectFrom("repo_deployment").select("body").where("repo_uid", "=", repoUid).executeTakeFirst();
  return row === undefined ? undefined : messageFromJson(DeploymentSchema, row.body);
}

async function store(deployment: Deployment, db: WriteDb): Promise<Deployment> {
  const body = encode(deployment);
  await db
    .insertInto("repo_deployment")
    .values({ repo_uid: deployment.id, body })
    .onConflict((conflict) => conflict.column("repo_uid").doUpdateSet({ body }))
    .execute();
  return deployment;
}

function assertCharts(charts: readonly HelmChart[]): void {
  if (charts.length > MAX_CHARTS) assertNone([{ field: "charts", description: `a deployment must have at most ${MAX_CHARTS} charts` }]);
  assertNone(charts.flatMap((chart, index) => chartViolations(chart, `charts[${index}]`)));
}

function chartViolations({ repo, source, chart }: HelmChart, field: string): FieldViolation[] {
  const texts = { repo, source, chart };
  const long = Object.entries(texts).filter(([, text]) => (text?.length ?? 0) > MAX_TEXT);
  if (long.length > 0)
    return long.map(([name]) => ({ field: `${field}.${name}`, description: `${name} must have at most ${MAX_TEXT} characters` }));
  const problem = problemOf(repo);
  return problem === undefined ? [] : [{ field: `${field}.repo`, description: problem }];
}

/** What is wrong with the URL of a chart repository. */
function problemOf(text: string): string | undefined {
  if (text === "") return "repo must not be empty";
  const url = URL.parse(text);
  if (url === null) return "repo must be a URL";
  const { protocol, hostname, username, password } = url;
  if (protocol !== "https:" && protocol !== "oci:" && !(protocol === "http:" && LOOPBACK.test(hostname)))
    return "repo must begin with https:// or oci://; http:// is for localhost and loopback addresses only";
  if (hostname === "") return "repo must have a host";
  return username !== "" || password !== "" ? "repo must not contain a user name or a password" : undefined;
}
