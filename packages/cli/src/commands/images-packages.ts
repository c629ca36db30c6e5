/** holt images packages: the packages in an image. */
import type { Verb } from "../command/verb.ts";
import { findImage, IMAGE_HELP, pathOfImage } from "../images/image-reference.ts";
import { reportScans } from "../images/report-scans.ts";
import { listOptions, showList } from "../operations/call-list.ts";
import type { Row } from "../output/output.ts";

export const verb: Verb = {
  path: "images packages",
  summary: "List the packages in an image, by name.",
  description: "For an index, the packages of all platforms are listed.",
  examples: ["holt images packages my-org/team-a/app:1.0 --type apk", "holt images packages app --platform linux/arm64 --all -o csv"],
  arguments: [{ name: "image", kind: "repo", help: IMAGE_HELP }],
  options: [
    { name: "type", value: "TYPE", repeated: true, help: "only packages of this type of package URLs, such as apk, deb or npm" },
    { name: "platform", value: "PLATFORM", repeated: true, help: "only packages of this platform, such as linux/arm64" },
    ...listOptions,
  ],
  async run(invocation) {
    const { argument, list } = invocation;
    const path = `${pathOfImage(await findImage(argument("image"), invocation))}/packages`;
    const columns = ["type", "name", "version", "platform", "purl", "architecture", "origin", "source", "location", "imageDigest"];
    const has = (option: string, row: Row) => list(option).length === 0 || list(option).includes(String(row[option] ?? ""));
    const isFiltered = list("type").length + list("platform").length > 0;
    let last: Row = {};
    await showList(
      {
        request: { method: "GET", path },
        items: "packages",
        view: { columns, narrow: 5, name: ({ purl }) => String(purl) },
        onPage: (_rows, answer) => {
          last = answer;
        },
        ...(isFiltered && { filter: (row: Row) => has("type", row) && has("platform", row) }),
      },
      invocation,
    );
    reportScans(last);
  },
};
