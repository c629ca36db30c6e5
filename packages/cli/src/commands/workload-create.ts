/** holt workload create: an identity for a machine that has no OIDC issuer, and the key with which it signs its proofs. */
import { existsSync } from "node:fs";
import { createSigningKey } from "@holt/client/signed";
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import { deferInterrupts } from "../terminal/interrupts.ts";
import { withNewKeyFile } from "../workload/key-file.ts";

/** No issuer has this name (RFC 2606); the server verifies the proofs with the stored key alone. */
const ISSUER = "https://workload.holt.invalid";

export const verb: Verb = {
  path: "workload create",
  summary: "Create an identity for a machine without an OIDC issuer, with a key that stays on the machine.",
  description:
    "Makes a key pair, writes the private key to a file that only you can read, and creates an identity with the public key. The " +
    "machine signs in with: holt login URL --from key:FILE. The identity has no rights until you grant it a role. Prefer the OIDC " +
    "tokens of GitHub Actions, GitLab or Kubernetes where there are any: they need no key.",
  examples: ["holt workload create my-org/team-a --name build --key build.key", "holt grant IDENTITY registry.push my-org/team-a"],
  arguments: [{ name: "group", kind: "group", optional: true, help: "the group of the identity; by default that of the context" }],
  options: [
    { name: "name", value: "TEXT", required: true, help: "the name of the identity" },
    { name: "key", value: "FILE", required: true, help: "the new file for the private key" },
    { name: "description", value: "TEXT", mayBeEmpty: true, help: "what the machine does" },
  ],
  async run({ argument, option, groupUid, session, output, signal }) {
    const name = option("name") ?? "";
    const path = option("key") ?? "";
    if (existsSync(path)) throw usageFailure(`${path} exists already`, "name another file, or delete it if nothing needs the key");
    const group = await groupUid(argument("group") || undefined);
    const { rest, context } = session();
    const { privateKey, issuerKeys } = await createSigningKey();
    const subject = `${name}-${privateKey.kid?.slice(0, 8)}`;
    const body = { name, description: option("description") ?? "", staticKeys: { issuer: ISSUER, subject, issuerKeys } };
    // An interrupt in between would leave an identity whose key is lost.
    const identity = await deferInterrupts(() =>
      withNewKeyFile(path, async (write) => {
        const { uid } = (await rest.call({ method: "POST", path: `/iam/v2/identities/${group}`, body, signal })) as { uid: string };
        write({ server: context.url, identity: uid, issuer: ISSUER, subject, key: privateKey });
        return uid;
      }),
    );
    await output.row({ uid: identity, name, key: path }, { columns: ["uid", "name", "key"] });
    output.say(`\nGive it a role:   holt grant ${identity} ROLE GROUP\nOn the machine:   holt login ${context.url} --from key:${path}`);
  },
};
