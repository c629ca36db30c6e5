/** Walks through the pages of local accounts as a visitor without a browser: with a password and an authenticator app. */
import assert from "node:assert/strict";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { totpCode } from "../../../src/iam/accounts/totp.ts";
import type { SignInWorld } from "./sign-in-world.ts";
import type { Answer, Visitor } from "./visitor.ts";

/** Longer than the code of an app is good for. */
const NEXT_CODE_MS = 60_000;

export const PASSWORD = "correct horse battery staple";

/** Secrets of a person with a local account. */
export interface Holder {
  readonly email: string;
  readonly password: string;
  /** Secret of the authenticator app. */
  readonly secret: string;
  readonly recoveryCodes: readonly string[];
  /** An access token of the first sign-in. */
  readonly token: string;
}

export type InviteFields = { readonly email?: string; readonly singleUse?: boolean; readonly parent?: string };

/** @returns the code of an invite to the first organization, or to `parent` */
export async function inviteTo(world: SignInWorld, { parent = world.orgUid, ...fields }: InviteFields = {}): Promise<string> {
  const roleUid = await world.role(parent, [Capability.CAP_IAM_GROUPS_LIST]);
  const groupInvite = { roleUid, ttl: { seconds: 3600n }, ...fields };
  return (await world.must(GroupInvitesService.method.createGroupInvite, { parent, groupInvite })).code;
}

/** Sends the form of the page that leads to `action`, with its hidden fields and these. */
export function submitTo(visitor: Visitor, page: Answer, action: string, fields: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const start = page.text.indexOf(`action="${action}"`);
  assert.ok(start > 0, `the page has no form for ${action}: ${page.text}`);
  const content = page.text.slice(start, page.text.indexOf("</form>", start));
  const hidden = [...content.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  const form = { ...Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value])), ...fields };
  return visitor.visit(new URL(action, page.url).href, { method: "POST", form });
}

/** The current code of the app, in a time step that no other code has used. */
export function nextCode(world: SignInWorld, secret: string): string {
  world.clock.advance(NEXT_CODE_MS);
  return totpCode(secret, world.clock.now());
}

/** @returns the page of the recovery codes, and the key of the app */
export async function createWithPassword(
  world: SignInWorld,
  visitor: Visitor,
  { invite, email, password = PASSWORD }: { readonly invite: string; readonly email: string; readonly password?: string },
): Promise<{ readonly codes: Answer; readonly secret: string }> {
  const begun = await visitor.visit(`${world.baseUrl}/oauth/account/new?${new URLSearchParams({ invite })}`);
  const app = await submitTo(visitor, begun, "/oauth/account/set-up", { name: "Ada", email, password });
  const secret = secretOf(app);
  const codes = await submitTo(visitor, app, "/oauth/account/app", { code: nextCode(world, secret) });
  return { codes, secret };
}

export function secretOf(page: Answer): string {
  const shown = /<dt>Key<\/dt><dd class="code">([A-Z2-7 ]+)<\/dd>/.exec(page.text)?.[1];
  assert.ok(shown, page.text);
  return shown.replaceAll(" ", "");
}

export function recoveryCodesOf({ text }: Answer): string[] {
  return [...text.matchAll(/<li><code>([0-9a-z-]{23})<\/code><\/li>/g)].map(([, code = ""]) => code);
}

/** Creates an account with a password, and signs in to the page. */
export async function createHolder(world: SignInWorld, email: string, invite?: string): Promise<Holder> {
  const visitor = world.visitor();
  const created = await createWithPassword(world, visitor, { invite: invite ?? (await inviteTo(world)), email });
  const recoveryCodes = recoveryCodesOf(created.codes);
  const done = await submitTo(visitor, created.codes, "/oauth/account/continue");
  return { email, password: PASSWORD, secret: created.secret, recoveryCodes, token: tokenOf(done) };
}

export function tokenOf({ text }: Answer): string {
  const token = /<textarea id="token"[^>]*>([^<]+)<\/textarea>/.exec(text)?.[1];
  assert.ok(token, text);
  return token;
}

export interface Attempt {
  readonly email: string;
  readonly password: string;
  readonly code: string;
}

/** @param path of the page with the forms */
export async function signInWithPassword(world: SignInWorld, visitor: Visitor, attempt: Attempt, path = "/oauth"): Promise<Answer> {
  const page = await visitor.visit(world.baseUrl + path);
  return submitPassword(visitor, page, attempt);
}

/** Sends the second form for signing in: the first is for passkeys. */
export function submitPassword(visitor: Visitor, page: Answer, { email, password, code }: Attempt): Promise<Answer> {
  return submitTo(visitor, page, "/oauth/account/sign-in", { email, password, code });
}

export function alertOf({ text }: Answer): string {
  return /<p class="problem"[^>]*>([^<]*)<\/p>/.exec(text)?.[1] ?? "";
}
