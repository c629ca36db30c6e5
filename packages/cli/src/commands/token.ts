/** holt token: prints an access token and nothing else, for programs that call a vendor's tool for one. */
import type { Verb } from "../command/verb.ts";
import { tokenOfContext } from "../contexts/access-token.ts";
import { findContextOfUrl, parseServerUrl, selectContext } from "../contexts/contexts.ts";
import { exitStatus, Failure } from "../failure.ts";

export const verb: Verb = {
  path: "token",
  summary: "Print an access token and nothing else.",
  description: "The token is renewed first if less than a minute is left of it.",
  examples: ['curl -H "Authorization: Bearer $(holt token)" https://holt.example.com/iam/v2/groups'],
  options: [
    { name: "issuer", value: "URL", help: "the server that issues the token, instead of that of the context" },
    { name: "audience", value: "NAME", help: "a token for this audience, which the server must allow (HOLT_AUDIENCES)" },
  ],
  async run({ option, contextName, signal }) {
    const issuer = option("issuer");
    const context = issuer === undefined ? selectContext(contextName) : findContextOfUrl(parseServerUrl(issuer), contextName);
    if (context === undefined)
      throw new Failure(`you are not signed in at ${issuer}`, {
        advice: `sign in with: holt login ${issuer}`,
        status: exitStatus.signedOut,
      });
    const own = tokenOfContext(context);
    const audience = option("audience");
    const isOwn = audience === undefined || audience === context.url;
    const source = isOwn
      ? own
      : (await import("@holt/client/exchange")).exchangedToken(own, { baseUrl: context.url, audience: [audience] });
    process.stdout.write(`${(await source(signal)).token}\n`);
  },
};
