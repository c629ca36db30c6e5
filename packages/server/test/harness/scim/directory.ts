/** Provides a directory for tests: an organization with its own identity provider, and a SCIM client with its token. */
import { randomBytes } from "node:crypto";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { generateScimToken, hashScimToken } from "../../../src/iam/identities/scim-credential.ts";
import type { World } from "../world.ts";

export type Json = Record<string, unknown>;

export interface ScimResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of many shapes
  readonly body: any;
}

export interface Directory {
  readonly organization: string;
  readonly idpUid: string;
  readonly token: string;
  /** Client ID at the provider: the audience of its people's tokens. */
  readonly clientId: string;
  /** Path of the provider's SCIM. */
  readonly path: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ScimResponse>;
  /**
   * @returns the body of the response
   * @throws Error for another status
   */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of many shapes
  must(status: number, method: string, path: string, body?: unknown): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of many shapes
  user(attributes?: Json): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of many shapes
  group(displayName: string, memberIds?: readonly string[], attributes?: Json): Promise<any>;
}

export interface DirectoryOptions {
  readonly organization?: string;
  /** Issuer of its people's tokens. */
  readonly issuer?: string;
  readonly rule?: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID" | "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID";
  readonly groupsClaim?: string;
}

export const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

export async function startDirectory(world: World, options: DirectoryOptions = {}): Promise<Directory> {
  const organization = options.organization ?? (await world.group("", `organization ${randomBytes(4).toString("hex")}`));
  // Several providers may share an issuer; the audience of a token tells them apart.
  const clientId = randomBytes(6).toString("hex");
  const body = {
    name: "directory",
    defaultRole: await viewerRole(world),
    oidc: {
      issuer: options.issuer ?? "https://directory.test",
      clientId,
      clientSecret: "secret",
      ...(options.rule && { correlationRule: options.rule }),
      ...(options.groupsClaim && { groupsClaim: options.groupsClaim }),
    },
  };
  const made = await world.raw("POST", `/iam/v2/identityProviders/${organization}`, body);
  if (made.status !== 200) throw new Error(made.text);
  const idpUid = (JSON.parse(made.text) as { uid: string }).uid;
  const { token } = await world.must(IdentityProvidersService.method.generateScimToken, { identityProviderUid: idpUid });
  await setEnabled(world, idpUid);
  return { ...createDirectory(world, organization, idpUid, token), clientId };
}

/** Enables or disables provisioning directly in the database, without the two owners that the API requires. */
export async function setEnabled(world: World, idpUid: string, enabled = 1): Promise<void> {
  await world.store.transaction((db) => db.updateTable("scim_token").set({ enabled }).where("idp_uid", "=", idpUid).execute());
}

/** A well-formed SCIM token that the API never issued. */
export function unknownToken(): string {
  const token = generateScimToken();
  return hashScimToken(token).length === 64 ? token : "";
}

export function createDirectory(world: World, organization: string, idpUid: string, token: string): Directory {
  const path = `/scim/v2/${idpUid}`;
  const directory: Directory = {
    organization,
    idpUid,
    token,
    clientId: "",
    path,
    async call(method, below, body, headers = {}) {
      const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
      const all = {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { "content-type": "application/scim+json" }),
        ...headers,
      };
      const answer = await world.http(method, `${path}${below}`, text as string | undefined, all);
      return { status: answer.status, headers: answer.headers, body: answer.text === "" ? undefined : JSON.parse(answer.text) };
    },
    async must(status, method, below, body) {
      const answer = await directory.call(method, below, body);
      if (answer.status !== status) throw new Error(`${method} ${below} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    user: (attributes = {}) =>
      directory.must(201, "POST", "/Users", { schemas: [USER], userName: randomBytes(6).toString("hex"), ...attributes }),
    group: (displayName, memberIds = [], attributes = {}) =>
      directory.must(201, "POST", "/Groups", {
        schemas: [GROUP],
        displayName,
        members: memberIds.map((value) => ({ value })),
        ...attributes,
      }),
  };
  return directory;
}

export function patch(...Operations: unknown[]): Json {
  return { schemas: [PATCH], Operations };
}

export function filtered(path: string, filter: string, more = ""): string {
  return `${path}?filter=${encodeURIComponent(filter)}${more}`;
}

async function viewerRole(world: World): Promise<string> {
  const { text } = await world.raw("GET", "/iam/v2/roles?name=viewer");
  const { roles } = JSON.parse(text) as { roles: { uid: string; name: string }[] };
  const viewer = roles.find(({ name }) => name === "viewer");
  if (viewer === undefined) throw new Error("there is no role viewer");
  return viewer.uid;
}
