/** Links accounts of the server with people of an organization's provider, on the pages that they use. */
import assert from "node:assert/strict";
import { AccountLinksService } from "@holt/api/gen/holt/v1/account_links_pb.ts";
import { SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { userIdentityUid } from "../../../src/iam/identities/user-identity.ts";
import { createHolder, type Holder, inviteTo, nextCode, signInWithPassword, submitTo, tokenOf } from "./account-visitor.ts";
import { claimsOf, type SignInWorld } from "./sign-in-world.ts";
import type { Answer, Visitor } from "./visitor.ts";

export const uidOf = (token: string) => claimsOf(token).sub ?? "";

/** @param world may start later */
export function linking(world: SignInWorld) {
  const personUid = (account: string) => userIdentityUid(world.upstream.issuer, account);
  const linksOf = async (token: string) => (await world.must(AccountLinksService.method.listAccountLinks, {}, token)).accountLinks;
  const throughAcme = async (account: string) => tokenOf(await world.visitor().walk(world.oauth({ idp_id: "acme.test" }), account));
  const allow = (accountLinksAllowed: boolean, uid = world.acme.uid) =>
    world.must(SignInSettingsService.method.updateSignInSettings, {
      signInSettings: { uid, accountLinksAllowed },
      updateMask: { paths: ["account_links_allowed"] },
    });

  /** A person with an account, who has joined both organizations. */
  async function person(email: string): Promise<Holder> {
    const holder = await createHolder(world, email, await inviteTo(world, { parent: world.acme.uid }));
    await world.must(RoleBindingsService.method.createRoleBinding, {
      parent: world.orgUid,
      roleBinding: { identityUid: uidOf(holder.token), roleUid: await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]) },
    });
    const visitor = world.visitor();
    const page = await signIn(visitor, holder, "/oauth");
    await submitTo(visitor, page, "/oauth/join", { organization: world.orgUid });
    return holder;
  }

  const signIn = (visitor: Visitor, holder: Holder, path = "/oauth/account") =>
    signInWithPassword(world, visitor, { ...holder, code: nextCode(world, holder.secret) }, path);

  /** Sends the form of the account's page that has this text. */
  async function act(visitor: Visitor, page: Answer, action: string, fields: Readonly<Record<string, string>>): Promise<Answer> {
    const at = page.text.indexOf(`name="action" value="${action}"`);
    assert.ok(at > 0, page.text);
    const handle = /name="handle" value="([^"]*)"/.exec(page.text)?.[1] ?? "";
    return visitor.visit(`${world.baseUrl}/oauth/account/change`, { method: "POST", form: { handle, action, ...fields } });
  }

  /** Begins the link on the account's page, and signs in at the provider. @returns the question */
  async function begin(visitor: Visitor, holder: Holder, account: string): Promise<Answer> {
    const leaving = await act(visitor, await signIn(visitor, holder), "link", { provider: world.acme.provider });
    const url = /content="0; url=([^"]*)"/.exec(leaving.text)?.[1]?.replaceAll("&amp;", "&");
    assert.ok(url, leaving.text);
    return visitor.walk(url, account);
  }

  async function link(holder: Holder, account: string): Promise<Answer> {
    const visitor = world.visitor();
    const question = await begin(visitor, holder, account);
    assert.match(question.text, /<h1>Link your account\?<\/h1>/);
    return submitTo(visitor, question, "/oauth/account/connect", { answer: "yes" });
  }

  return { allow, personUid, linksOf, throughAcme, person, signIn, act, begin, link };
}
