/** holt configure: writes the settings of another tool, shows the difference first, and can undo it. */
import { createPullToken, pathOfGroup, revokePullToken } from "../access/pull-tokens.ts";
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { diff } from "../configure/diff.ts";
import { applyChange, type Entry, readEntry, restore, writeEntry } from "../configure/journal.ts";
import type { FileChange, Target, Tool } from "../configure/tool.ts";
import { tools } from "../configure/tools.ts";
import { selectContext } from "../contexts/contexts.ts";
import { Failure, usageFailure } from "../failure.ts";
import { parseDuration } from "../output/human.ts";
import { paint } from "../terminal/color.ts";
import { deferInterrupts } from "../terminal/interrupts.ts";

const HIDDEN = "********";
const names = Object.keys(tools);

export const verb: Verb = {
  path: "configure",
  summary: "Set up docker, pip, uv, Maven, Gradle or Kubernetes for a server.",
  description:
    "Shows the difference and asks. docker asks holt for tokens; the other tools get a pull token of their own. The settings for " +
    "Kubernetes are printed. --undo revokes the pull token and restores the files. In a file that was changed since, it removes only " +
    "the block that holt marked, or says which lines are to be removed by hand.",
  examples: [
    "holt configure docker",
    "holt configure pip my-org",
    "holt configure kubernetes my-org | kubectl apply -f -",
    "holt configure pip --undo",
  ],
  arguments: [
    { name: "tool", values: names, help: names.join(", ") },
    { name: "group", kind: "group", optional: true, help: "the group whose content the tool uses; by default that of the context" },
  ],
  options: [
    { name: "ttl", value: "DURATION", help: "how long the password of the pull token is valid; 90d by default" },
    { name: "undo", help: "restore the settings from before" },
  ],
  async run(invocation) {
    const name = invocation.argument("tool");
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (tool === undefined) throw usageFailure(`holt cannot configure "${name}"`, `it knows ${names.join(", ")}`);
    if (invocation.isSet("undo")) await undo(name, invocation);
    else await configure(name, tool, invocation);
  },
};

async function configure(name: string, tool: Tool, invocation: Invocation): Promise<void> {
  if (readEntry(name) !== undefined)
    throw new Failure(`${name} is configured already`, { advice: `first run: holt configure ${name} --undo` });
  const { session, signal, output, argument, groupUid, confirm } = invocation;
  const { context, rest } = session();
  // Tools that ask holt for tokens work with every group.
  const group = tool.rights.length > 0 ? await groupUid(argument("group") || undefined) : undefined;
  const path = group === undefined ? "GROUP" : await pathOfGroup(rest, group, signal);
  const draft: Target = { url: context.url, host: new URL(context.url).host, path, userName: HIDDEN, password: HIDDEN };
  const changes = tool.files?.(draft) ?? [];
  if (changes.length > 0) {
    showChanges(changes);
    await confirm(`Change the settings of ${tool.title}?`);
  }
  // An interrupt in between would leave a pull token or a changed file that nobody can undo.
  await deferInterrupts(async () => {
    const { target, pullToken } = await addPassword(tool, draft, group, invocation);
    const files = tool.files?.(target) ?? [];
    if (tool.print !== undefined) return void process.stdout.write(tool.print(target));
    const entry = { files, ...(pullToken && { pullToken }) };
    try {
      await writeEntry(name, entry);
      for (const change of files) applyChange(change);
    } catch (error) {
      // If this fails too, the first error says more. An entry that was written allows `--undo`.
      await revert(name, entry, invocation).catch(() => {});
      throw error;
    }
    output.say(["Done.", tool.hint?.(target)].filter(Boolean).join(" "));
  });
}

/** @returns the target with the login of a new pull token, unless the tool asks holt for tokens */
async function addPassword({ rights }: Tool, draft: Target, group: string | undefined, { argument, option, session, signal }: Invocation) {
  if (group === undefined) return { target: draft, pullToken: undefined };
  const seconds = parseDuration(option("ttl") ?? "90d");
  if (seconds === undefined) throw usageFailure(`--ttl: "${option("ttl")}" must be a duration such as 12h or 90d`);
  const { rest, context } = session();
  const name = `holt configure ${argument("tool")}`;
  const { uid, userName, password } = await createPullToken(rest, group, { name, rights, ttl: `${seconds}s` }, signal);
  return { target: { ...draft, userName, password }, pullToken: { context: context.name, uid } };
}

async function undo(name: string, invocation: Invocation): Promise<void> {
  const { confirm, output } = invocation;
  const entry = readEntry(name);
  if (entry === undefined) throw new Failure(`holt has not configured ${name}`, { advice: `set it up with: holt configure ${name}` });
  await confirm(`Restore ${entry.files.map(({ path }) => path).join(" and ")}?`);
  await revert(name, entry, invocation);
  output.say(`Restored the settings of ${name}.`);
}

async function revert(name: string, entry: Entry, { session, signal }: Invocation): Promise<void> {
  try {
    await revokeTokenOf(entry, session, signal);
  } finally {
    restore(entry);
  }
  // Last, so that a command that failed can be repeated.
  await writeEntry(name, undefined);
}

async function revokeTokenOf({ pullToken }: Entry, session: Invocation["session"], signal: AbortSignal): Promise<void> {
  if (pullToken === undefined) return;
  const { rest } = session(selectContext(pullToken.context));
  await revokePullToken(rest, pullToken.uid, signal);
}

function showChanges(changes: readonly FileChange[]): void {
  const { stderr } = process;
  for (const { path, before, after } of changes) {
    stderr.write(`${paint("bold", path, stderr)}${before === undefined ? " (new)" : ""}\n`);
    for (const { sign, text } of diff(before ?? "", after)) {
      const shown = text.replace(/(password|_authToken)(\s*[=: >"]+\s*)(?!\*{8}|[=:>])[^\s"<]+/gi, `$1$2${HIDDEN}`);
      stderr.write(`${sign === " " ? `  ${shown}` : paint(sign === "+" ? "green" : "red", `${sign} ${shown}`, stderr)}\n`);
    }
  }
}
