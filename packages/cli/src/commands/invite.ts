/** holt invite: creates an invite and prints its link. */
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import { signInUrl } from "../login/sign-in-url.ts";
import { parseDuration } from "../output/human.ts";
import type { Row } from "../output/output.ts";

export const verb: Verb = {
  path: "invite",
  summary: "Invite a person to a group, and print the link to send.",
  examples: ["holt invite my-org --role viewer --email ann@example.com --ttl 7d --single-use"],
  arguments: [{ name: "group", kind: "group", optional: true, help: "the group; by default that of the context" }],
  options: [
    { name: "role", value: "NAME|UID", kind: "role", required: true, help: "the role that the invite gives" },
    { name: "email", value: "ADDRESS", help: "only a person with this verified address may accept" },
    { name: "ttl", value: "DURATION", help: "how long the invite is valid; 7d by default" },
    { name: "single-use", help: "the invite ends when the first person joins" },
    { name: "org", value: "NAME", help: "the organization at whose identity provider the person signs in" },
  ],
  async run({ argument, option, isSet, uid, groupUid, session, output, signal }) {
    const seconds = parseDuration(option("ttl") ?? "7d");
    if (seconds === undefined) throw usageFailure(`--ttl: "${option("ttl")}" must be a duration such as 12h or 7d`);
    const [group, roleUid] = await Promise.all([groupUid(argument("group") || undefined), uid("role", option("role") ?? "")]);
    const { rest, context } = session();
    const body = {
      roleUid,
      ttl: `${seconds}s`,
      singleUse: isSet("single-use"),
      ...(option("email") !== undefined && { email: option("email") }),
    };
    const invite = (await rest.call({ method: "POST", path: `/iam/v2/groupInvites/${group}`, body, signal })) as Row;
    const link = signInUrl(context.url, {}, { organization: option("org"), invite: String(invite.code) });
    await output.row({ ...invite, link }, { columns: ["link", "uid", "email", "singleUse", "expirationTime"], name: () => link });
  },
};
