/** holt images diff: the differences between the packages and vulnerabilities of two images. */
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { type Content, compareImages } from "../images/compare-images.ts";
import { comparisonMarkdown } from "../images/comparison-markdown.ts";
import { type FoundImage, findImage, IMAGE_HELP, pathOfImage } from "../images/image-reference.ts";
import { readScans } from "../images/platforms.ts";
import { readPages } from "../operations/call-list.ts";
import { shownText } from "../output/cell.ts";
import type { Row } from "../output/output.ts";
import { startProgress } from "../terminal/progress.ts";

const PARTS = ["packages", "vulnerabilities"];
const columns = ["kind", "change", "platform", "type", "name", "before", "after", "id", "severity"];

export const verb: Verb = {
  path: "images diff",
  summary: "Compare the packages and open vulnerabilities of two images, by platform and type of package.",
  description: "Compares the platforms that both indexes have. -o json also lists the platforms that only one of them has.",
  examples: ["holt images diff my-org/app:1.0 my-org/app:1.1", "holt images diff app:1.0 app --markdown"],
  arguments: [
    { name: "a", kind: "repo", help: `the earlier image: ${IMAGE_HELP}` },
    { name: "b", kind: "repo", help: "the later image" },
  ],
  options: [
    { name: "only", value: "PART", values: PARTS, help: "compare packages or vulnerabilities alone" },
    { name: "markdown", help: "print Markdown" },
  ],
  async run(invocation) {
    const { argument, output, isSet } = invocation;
    const found = await Promise.all([findImage(argument("a"), invocation), findImage(argument("b"), invocation)]);
    const [before, after] = await readBoth(found, invocation);
    const comparison = compareImages(before, after);
    const complete = before.isComplete && after.isComplete;
    if (!complete) process.stderr.write("The server is still reading the packages; compare again later.\n");
    const title = `Differences from ${shownText(argument("a"))} to ${shownText(argument("b"))}`;
    if (isSet("markdown")) return void process.stdout.write(comparisonMarkdown(title, comparison));
    const document = { before: before.digest, after: after.digest, complete, ...comparison };
    if (output.format === "json" || output.format === "yaml") return output.row(document, { columns: [] });
    for (const platform of comparison.addedPlatforms) process.stderr.write(`Only the later image has ${shownText(platform)}.\n`);
    for (const platform of comparison.removedPlatforms) process.stderr.write(`Only the earlier image has ${shownText(platform)}.\n`);
    const rows = [...comparison.packages, ...comparison.vulnerabilities].map((difference): Row => ({ ...difference }));
    await output.rows(rows, { columns, name: ({ id, name }) => String(id ?? name) });
  },
};

async function readBoth([a, b]: readonly [FoundImage, FoundImage], invocation: Invocation): Promise<[Content, Content]> {
  const progress = startProgress({ title: "Reading the images" });
  const onPage: OnPage = (page) => progress.add(page.length);
  try {
    return await Promise.all([readContent(a, invocation, onPage), readContent(b, invocation, onPage)]);
  } finally {
    progress.end();
  }
}

type OnPage = (page: readonly Row[]) => void;

async function readContent(image: FoundImage, invocation: Invocation, onPage: OnPage): Promise<Content> {
  let isMatched = true;
  const read = async (items: string, query: Readonly<Record<string, string>>) => {
    if ((invocation.option("only") ?? items) !== items) return [];
    const request = { method: "GET", path: `${pathOfImage(image)}/${items}`, query };
    const onEach = (page: readonly Row[], answer: Row) => {
      onPage(page);
      if (items === "vulnerabilities") isMatched = answer.complete === true;
    };
    const options = { items, limit: Number.MAX_SAFE_INTEGER, signal: invocation.signal, onPage: onEach };
    return (await readPages(invocation.session().rest, request, options)).rows;
  };
  const [{ platforms, isComplete }, packages, vulnerabilities] = await Promise.all([
    readScans(image, invocation),
    read("packages", {}),
    read("vulnerabilities", { state: "STATE_OPEN" }),
  ]);
  const names = platforms.map(({ platform }) => platform);
  return { digest: image.digest, platforms: names, packages, vulnerabilities, isComplete: isComplete && isMatched };
}
