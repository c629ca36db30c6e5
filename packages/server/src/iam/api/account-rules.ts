/** The rules of an account association: the form of each account, and the identities that it may name. */
import { equals } from "@bufbuild/protobuf";
import { type AccountAssociation, AccountAssociation_ChainguardSchema } from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import type { WriteDb } from "../../db/store.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import { isUid, parentOf } from "../../lib/uid.ts";
import { findIdentity } from "../identities/identity-record.ts";

const AWS_ACCOUNT = /^[0-9]{12}$/;
const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MAX_TEXT = 256;
const MAX_ENTRIES = 100;

/** Throws INVALID_ARGUMENT with every violation, except those that only `assertServiceBindings` finds. */
export function assertAccounts(association: AccountAssociation): void {
  assertName(association.name);
  assertNone([
    ...descriptionViolations(association.description),
    ...amazonViolations(association),
    ...googleViolations(association),
    ...chainguardViolations(association),
    ...azureViolations(association),
    ...githubViolations(association),
  ]);
}

/**
 * Throws unless each service is bound to an identity that stands directly in the group and is reserved for that service. An update that
 * leaves the bindings unchanged passes: a deleted identity must not block changes of other fields.
 */
export async function assertServiceBindings(
  { chainguard }: AccountAssociation,
  current: AccountAssociation | undefined,
  groupUid: string,
  db: WriteDb,
): Promise<void> {
  if (chainguard === undefined) return;
  if (current?.chainguard !== undefined && equals(AccountAssociation_ChainguardSchema, chainguard, current.chainguard)) return;
  const violations: FieldViolation[] = [];
  for (const [principal, uid] of Object.entries(chainguard.serviceBindings)) {
    if (!(await isReservedFor(principal, uid, groupUid, db)))
      violations.push({
        field: `chainguard.service_bindings.${principal}`,
        description: `must be the uid of an identity directly in this group whose service principal is ${principal}`,
      });
  }
  assertNone(violations);
}

async function isReservedFor(principal: string, uid: string, groupUid: string, db: WriteDb): Promise<boolean> {
  if (!isUid(uid) || parentOf(uid) !== groupUid) return false;
  const relationship = (await findIdentity(db, uid))?.relationship;
  return relationship?.case === "servicePrincipal" && relationship.value === principalOf(principal);
}

function principalOf(name: string): ServicePrincipal | undefined {
  return Object.hasOwn(ServicePrincipal, name) ? ServicePrincipal[name as keyof typeof ServicePrincipal] : undefined;
}

function amazonViolations({ amazon }: AccountAssociation): FieldViolation[] {
  if (amazon === undefined || AWS_ACCOUNT.test(amazon.account)) return [];
  return [{ field: "amazon.account", description: 'AWS account ID must match "^[0-9]{12}$"' }];
}

function googleViolations({ google }: AccountAssociation): FieldViolation[] {
  if (google === undefined) return [];
  const { projectId, projectNumber } = google;
  return [...textViolations("google.project_id", projectId), ...textViolations("google.project_number", projectNumber)];
}

function chainguardViolations({ chainguard }: AccountAssociation): FieldViolation[] {
  if (chainguard === undefined) return [];
  const field = "chainguard.service_bindings";
  const names = Object.keys(chainguard.serviceBindings);
  if (names.length === 0) return [{ field, description: "service_bindings must have at least one entry" }];
  const unknown = names.find((name) => principalOf(name) === undefined || name === "UNSPECIFIED");
  return unknown === undefined ? [] : [{ field, description: "service_bindings must be named after service principals: CATALOG_SYNCER" }];
}

function azureViolations({ azure }: AccountAssociation): FieldViolation[] {
  if (azure === undefined) return [];
  const entries = Object.entries(azure.clientIds);
  return [
    ...(GUID.test(azure.tenantId) ? [] : [{ field: "azure.tenant_id", description: "tenant_id must be a GUID" }]),
    ...(entries.length === 0 ? [{ field: "azure.client_ids", description: "client_ids must have at least one entry" }] : []),
    ...tooMany("azure.client_ids", entries.length),
    ...entries
      .slice(0, MAX_ENTRIES)
      .flatMap(([name, id]) => [...textViolations("azure.client_ids", name), ...textViolations(`azure.client_ids.${name}`, id)]),
  ];
}

function githubViolations({ github }: AccountAssociation): FieldViolation[] {
  if (github === undefined) return [];
  const field = "github.app_installations";
  const apps = Object.entries(github.appInstallations);
  return [
    ...tooMany(field, apps.length),
    ...apps.slice(0, MAX_ENTRIES).flatMap(([app, { installations }]) => [
      ...tooMany(`${field}.${app}`, installations.length),
      ...installations
        .filter(({ installationId }) => installationId <= 0n)
        .slice(0, 1)
        .map(() => ({ field: `${field}.${app}.installation_id`, description: "installation_id is required" })),
    ]),
  ];
}

function textViolations(field: string, text: string): FieldViolation[] {
  if (text === "") return [{ field, description: "must not be empty" }];
  return text.length > MAX_TEXT ? [{ field, description: `must have at most ${MAX_TEXT} characters` }] : [];
}

function tooMany(field: string, count: number): FieldViolation[] {
  return count > MAX_ENTRIES ? [{ field, description: `must have at most ${MAX_ENTRIES} entries` }] : [];
}
