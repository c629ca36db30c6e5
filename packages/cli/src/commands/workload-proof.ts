/** holt workload proof: signs a proof with the key of a workload. */
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import { parseDuration } from "../output/human.ts";
import { proofSource } from "../workload/key-file.ts";

export const verb: Verb = {
  path: "workload proof",
  summary: "Sign a proof with the key of a workload, and print nothing else.",
  description:
    "A program exchanges the proof for an access token at /sts/exchange. A proof with a long life is the password of clients that take " +
    "a user name and a password, together with the uid of the identity as the user name.",
  examples: ["holt workload proof --key build.key", "holt workload proof --key build.key --ttl 90d"],
  options: [
    { name: "key", value: "FILE", required: true, help: "the file of holt workload create" },
    { name: "ttl", value: "DURATION", help: "how long the proof is valid; 5m by default" },
    { name: "audience", value: "URL", help: "the server of the file by default" },
  ],
  async run({ option, signal }) {
    const ttl = parseDuration(option("ttl") ?? "5m");
    if (!ttl) throw usageFailure(`--ttl: "${option("ttl")}" must be a duration such as 5m or 90d`);
    const { token } = await proofSource(option("key") ?? "", option("audience"), ttl)(signal);
    process.stdout.write(`${token}\n`);
  },
};
