/** holt pull-token create: a user name and a password for machines, with the commands that use them. */
import { createPullToken, type PullToken, pathOfGroup } from "../access/pull-tokens.ts";
import { chosen } from "../command/chosen.ts";
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import { parseDuration } from "../output/human.ts";

const RIGHTS = ["images-pull", "images-push", "python-pull", "python-push", "java-pull", "java-push"];

export const verb: Verb = {
  path: "pull-token create",
  summary: "Create a user name and a password for machines, and print the commands that use them.",
  description: "The password is shown once. holt iam pull-tokens lists, rotates and deletes pull tokens.",
  examples: ["holt pull-token create my-org/team-a --name cluster-a --right images-pull --ttl 90d"],
  arguments: [{ name: "group", kind: "group", optional: true, help: "the group; by default that of the context" }],
  options: [
    { name: "name", value: "TEXT", required: true, help: "the purpose of the token" },
    { name: "right", value: "RIGHT", repeated: true, values: RIGHTS, help: "images-pull by default" },
    { name: "repository", value: "PATH", repeated: true, help: "limit the token to repositories such as shop/api or shop/**" },
    { name: "ttl", value: "DURATION", help: "how long the password is valid; 30d by default" },
  ],
  async run({ argument, option, list, groupUid, session, output, signal }) {
    const given = chosen("right", list("right"), RIGHTS);
    const rights = given.length === 0 ? ["images-pull"] : given;
    const seconds = parseDuration(option("ttl") ?? "30d");
    if (seconds === undefined) throw usageFailure(`--ttl: "${option("ttl")}" must be a duration such as 12h or 90d`);
    const group = await groupUid(argument("group") || undefined);
    const { rest, context } = session();
    const names = rights.map((right) => `RIGHT_${right.toUpperCase().replace("-", "_")}`);
    const fields = { name: option("name") ?? "", rights: names, repositories: list("repository"), ttl: `${seconds}s` };
    const token = await createPullToken(rest, group, fields, signal);
    await output.row({ ...token }, { columns: ["name", "uid", "userName", "password", "expireTime"] });
    output.say(`\n${commandsFor(token, context.url, await pathOfGroup(rest, group, signal), rights)}`);
  },
};

/** The password comes from standard input, so that it is in no process list. */
function commandsFor({ userName, password }: PullToken, url: string, path: string, rights: readonly string[]): string {
  const host = new URL(url).host;
  const lines: string[] = [];
  if (rights.some((right) => right.startsWith("images")))
    lines.push(
      "# docker, podman, skopeo",
      `printf %s '${password}' | docker login -u '${userName}' --password-stdin ${host}`,
      "# Kubernetes",
      `kubectl create secret docker-registry holt --docker-server=${host} --docker-username='${userName}' --docker-password='${password}'`,
    );
  if (rights.some((right) => right.startsWith("python") || right.startsWith("java")))
    lines.push(
      "# curl, pip and uv",
      `printf 'machine %s login %s password %s\\n' ${host.replace(/:\d+$/, "")} '${userName}' '${password}' >> ~/.netrc`,
    );
  if (rights.some((right) => right.startsWith("python")))
    lines.push(`pip install --index-url ${url}/libraries/python/${encodeURI(path)}/simple/ PACKAGE`);
  if (rights.some((right) => right.startsWith("java")))
    lines.push(
      "# Maven, in settings.xml",
      `<server><id>holt</id><username>${userName}</username><password>${password}</password></server>`,
    );
  return lines.join("\n");
}
