/** holt tags resolve: the digest that a tag stands for. */
import type { Verb } from "../command/verb.ts";
import { findImage, namesOfTags } from "../images/image-reference.ts";
import { isMissing, readScans, textOfPlatforms } from "../images/platforms.ts";

export const verb: Verb = {
  path: "tags resolve",
  summary: "Show which digest a tag stands for, and which other tags have the same digest.",
  description: "-o name prints the digest and nothing else.",
  examples: ["holt tags resolve my-org/team-a/app:1.0", "docker pull holt.example.com/my-org/app@$(holt tags resolve my-org/app -o name)"],
  arguments: [{ name: "tag", kind: "repo", help: "REPO:TAG; the tag is latest by default" }],
  async run(invocation) {
    const { repo, digest, tag } = await findImage(invocation.argument("tag"), invocation);
    const [names, { platforms }] = await Promise.all([
      namesOfTags(repo, digest, invocation),
      // A tag may name a digest that nobody has pushed.
      readScans({ repo, digest }, invocation).catch((error) => {
        if (isMissing(error)) return { platforms: [] };
        throw error;
      }),
    ]);
    const otherTags = names.filter((name) => name !== tag?.name);
    const row = { repo, tag: tag?.name ?? "", digest, otherTags, updateTime: tag?.updateTime ?? "", platforms };
    const shown = { title: "PLATFORMS", value: () => textOfPlatforms(platforms) };
    await invocation.output.row(row, { columns: ["tag", "digest", "otherTags", "updateTime", shown, "repo"], name: () => digest });
  },
};
