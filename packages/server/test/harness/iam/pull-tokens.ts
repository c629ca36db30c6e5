/** Requests with pull tokens, and calls about them, as their tests need them. */
import assert from "node:assert/strict";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type PullToken, type PullTokenSchema, PullTokensService, PullToken_Right as Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { type Answer, basic, createRegistryClient, type RegistryClient } from "../registry/registry-client.ts";
import type { Caller, World } from "../world.ts";

const methods = PullTokensService.method;

export type PullTokenFields = MessageInitShape<typeof PullTokenSchema>;

export function pullTokenActions(world: World) {
  const create = (parent: string, fields: PullTokenFields = {}, caller: Caller = world.owner): Promise<PullToken> =>
    world.must(methods.createPullToken, { parent, pullToken: { name: "test", rights: [Right.IMAGES_PULL], ...fields } }, caller.token);
  const attempt = (parent: string, fields: PullTokenFields, caller: Caller) =>
    world.rest.call(methods.createPullToken, { parent, pullToken: { name: "test", rights: [Right.IMAGES_PULL], ...fields } }, caller.token);
  const credentialsOf = ({ userName, password }: PullToken) => basic(userName, password);
  const send = async (authorization: string | undefined, method: string, path: string): Promise<Answer> => {
    using client = createRegistryClient(world.baseUrl, authorization);
    return await client.send(method, path);
  };
  const statusOf = async (token: PullToken, method: string, path: string) => (await send(credentialsOf(token), method, path)).status;
  const push = async (name: string): Promise<void> => {
    using client: RegistryClient = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    await client.image(name, "1");
  };
  /** A registry token, as docker gets it with the user name and password. */
  const registryToken = async (token: PullToken, scope: string): Promise<string> => {
    const { status, json } = await send(credentialsOf(token), "GET", `/token?scope=${scope}`);
    assert.equal(status, 200);
    return `Bearer ${(json() as { token: string }).token}`;
  };
  return { create, attempt, credentialsOf, send, statusOf, push, registryToken };
}
