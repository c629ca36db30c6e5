/** holt advisories export: saves the approved advisories of a group in a format of other tools. */
import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { startProgress } from "../terminal/progress.ts";

const FEEDS: Readonly<Record<string, string>> = { osv: "osv.zip", openvex: "openvex.json", csaf: "csaf.zip", secdb: "secdb.json" };

export const verb: Verb = {
  path: "advisories export",
  summary: "Save the approved advisories of a group and everything below it in a format of other tools.",
  examples: ["holt advisories export my-org", "holt advisories export my-org --format openvex --file - | jq .statements"],
  arguments: [{ name: "group", kind: "group", optional: true, help: "the group; by default that of the context" }],
  options: [
    { name: "format", value: "FORMAT", values: Object.keys(FEEDS), help: "osv by default; also openvex, csaf or secdb" },
    { name: "file", value: "FILE", help: "osv.zip, openvex.json, csaf.zip or secdb.json by default; - is standard output" },
  ],
  async run(invocation) {
    const { argument, option, groupUid, session, confirm, signal } = invocation;
    const feed = FEEDS[option("format") ?? "osv"] ?? "";
    const file = option("file") ?? feed;
    const group = await groupUid(argument("group") || undefined);
    if (file !== "-" && existsSync(file)) await confirm(`Replace ${file}?`);
    const response = await session().rest.fetch({
      method: "GET",
      path: `/holt/v1/feeds/${group}/${feed}`,
      signal,
      timeoutMs: Number.POSITIVE_INFINITY,
    });
    await (file === "-" ? writeOut(response) : save(response, file, invocation));
  },
};

async function writeOut(response: Response): Promise<void> {
  for await (const chunk of chunksOf(response)) await new Promise((resolve) => process.stdout.write(chunk, resolve));
}

/** A download that breaks off leaves the earlier file as it is. */
async function save(response: Response, file: string, { output }: Invocation): Promise<void> {
  const unfinished = `${file}.${process.pid}.part`;
  const total = Number(response.headers.get("content-length")) || undefined;
  const progress = startProgress({ title: "Downloading", total, unit: "bytes" });
  let bytes = 0;
  try {
    await using target = await open(unfinished, "wx");
    for await (const chunk of chunksOf(response)) {
      await target.writeFile(chunk);
      bytes += chunk.length;
      progress.add(chunk.length);
    }
    await rename(unfinished, file);
  } finally {
    progress.end();
    await rm(unfinished, { force: true });
  }
  await output.row({ file, bytes }, { columns: ["file", "bytes"], name: () => file });
}

function chunksOf({ body }: Response): AsyncIterable<Uint8Array> {
  return (body ?? []) as AsyncIterable<Uint8Array>;
}
