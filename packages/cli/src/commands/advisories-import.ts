/** holt advisories import: sends a file with advisories, and waits until its records are stored. */
import { access, constants } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { uploadImport } from "../advisories/upload-import.ts";
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { exitStatus, Failure } from "../failure.ts";
import { shownText } from "../output/cell.ts";
import type { Row } from "../output/output.ts";

interface Import extends Row {
  readonly uid: string;
  readonly state: string;
  readonly error?: string;
  readonly counts?: { readonly problems?: string };
  readonly problems?: readonly { readonly file?: string; readonly position?: string; readonly reason?: string }[];
}

const POLL_MS = 500;
const KINDS = ["advisories", "vulnerabilities"];
const COLUMNS = ["read", "created", "updated", "unchanged", "problems"].map((name) => ({
  title: name.toUpperCase(),
  value: ({ counts }: Row) => (counts as Row | undefined)?.[name] ?? "0",
}));

export const verb: Verb = {
  path: "advisories import",
  summary: "Import a file with advisories into a group, and wait for the result.",
  description:
    "The file is advisory YAML, OSV, OpenVEX, CSAF or secdb JSON, plain or in a zip or tar archive. Each record that cannot be " +
    "imported is a line on standard error, and the exit status is 8. An import that has started continues on the server after Ctrl-C.",
  examples: ["holt advisories import osv.zip my-org", "holt advisories import openssl.advisories.yaml my-org/team-a -o json"],
  arguments: [
    { name: "file", help: "the file" },
    { name: "group", kind: "group", optional: true, help: "the group; by default that of the context" },
  ],
  options: [{ name: "kind", value: "KIND", values: KINDS, help: "advisories by default; vulnerabilities are for the operator" }],
  async run(invocation) {
    const { argument, output } = invocation;
    await access(argument("file"), constants.R_OK);
    const started = await start(invocation);
    const done = await waitForEnd(started, invocation);
    for (const { file, position, reason } of done.problems ?? [])
      process.stderr.write(`${[file, position, ` ${reason}`].filter(Boolean).map(shownText).join(":")}\n`);
    if (done.state === "STATE_FAILED")
      throw new Failure(`the import failed: ${done.error}`, { advice: "the same file can be imported again" });
    await output.row(done, { columns: [...COLUMNS, "uid"] });
    if (Number(done.counts?.problems ?? 0) > 0) process.exitCode = exitStatus.invalid;
  },
};

/** An import that cannot be uploaded is deleted, because an organization may have few. */
async function start(invocation: Invocation): Promise<string> {
  const { argument, option, groupUid, session, signal } = invocation;
  const { rest } = session();
  const path = `/holt/v1/imports/${await groupUid(argument("group") || undefined)}`;
  const body = { kind: `IMPORT_KIND_${(option("kind") ?? "advisories").toUpperCase()}`, fileName: basename(argument("file")) };
  const { uid } = (await rest.call({ method: "POST", path, body, signal })) as Import;
  try {
    const size = await uploadImport(session(), { uid, path: argument("file"), signal });
    await rest.call({ method: "POST", path: `/holt/v1/imports/${uid}:start`, body: { size: String(size) }, signal });
    return uid;
  } catch (error) {
    await rest.call({ method: "DELETE", path: `/holt/v1/imports/${uid}` }).catch(() => {});
    throw error;
  }
}

async function waitForEnd(uid: string, { session, signal }: Invocation): Promise<Import> {
  for (;;) {
    const found = (await session().rest.call({ method: "GET", path: `/holt/v1/imports/${uid}`, signal })) as Import;
    if (found.state === "STATE_DONE" || found.state === "STATE_FAILED") return found;
    await sleep(POLL_MS, undefined, { signal });
  }
}
