/**
 * Reads the shell blocks of a Markdown page and makes one bash script of them.
 *
 * A block is fenced as ```sh. Words after `sh` say how to treat it: `needs=podman,skopeo` runs it only where these programs are installed,
 * `skip` never runs it. In a block, `# refused` ends each line whose request the server refuses, and `YOUR_…` stands for a value that only
 * the reader knows.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export interface ShellBlock {
  /** Line of the fence in the page, counted from 1. */
  readonly line: number;
  readonly text: string;
  readonly isSkipped: boolean;
  /** Programs that the block needs. */
  readonly needs: readonly string[];
}

const FENCE = /^```sh\b(.*)$/;

export function readShellBlocks(page: string): ShellBlock[] {
  const lines = page.split("\n");
  const blocks: ShellBlock[] = [];
  for (const [index, line] of lines.entries()) {
    const words = FENCE.exec(line)?.[1]?.trim().split(/\s+/).filter(Boolean);
    if (words === undefined) continue;
    const end = lines.indexOf("```", index);
    if (end < 0) throw new Error(`line ${index + 1}: the block has no end`);
    blocks.push({ line: index + 1, text: lines.slice(index + 1, end).join("\n"), ...treatmentOf(words) });
  }
  return blocks;
}

function treatmentOf(words: readonly string[]): Pick<ShellBlock, "isSkipped" | "needs"> {
  const unknown = words.find((word) => word !== "skip" && !word.startsWith("needs="));
  if (unknown !== undefined) throw new Error(`a shell block has the unknown word ${unknown}`);
  const needs = words.flatMap((word) => (word.startsWith("needs=") ? word.slice("needs=".length).split(",") : []));
  return { isSkipped: words.includes("skip"), needs };
}

export function isInstalled(program: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export interface ScriptOptions {
  /** Values of the placeholders, by name. */
  readonly placeholders: Readonly<Record<string, string>>;
  /** Texts to replace, such as the address of the server. */
  readonly replacements: Readonly<Record<string, string>>;
}

/**
 * The script fails with a message on standard error if a command fails, a variable is undefined or assigned nothing, or another number of
 * requests is refused than the block says.
 */
export function scriptOf(blocks: readonly ShellBlock[], options: ScriptOptions): string {
  const parts = blocks.map(({ line, text }) => `echo '== line ${line}' >&2\n${fillIn(text, options)}\n${checkOf(line, text)}`);
  return `${PRELUDE}\n${parts.join("\n")}\n`;
}

function fillIn(text: string, { placeholders, replacements }: ScriptOptions): string {
  const filled = text.replace(/\bYOUR_[A-Z_]+/g, (name) => {
    const value = placeholders[name];
    if (value === undefined) throw new Error(`the placeholder ${name} is unknown`);
    return value;
  });
  return Object.entries(replacements).reduce((result, [from, to]) => result.replaceAll(from, to), filled);
}

function checkOf(line: number, text: string): string {
  const refused = text.match(/# refused/g)?.length ?? 0;
  // An assignment before a command is only for that command.
  const assigned = [...text.matchAll(/^(?:export )?([A-Z][A-Z_]*)=(?![^\s$]* \w|\$\w+ \w)\S/gm)].map(([, name]) => name);
  return `__check ${line} ${refused} ${assigned.join(" ")}`;
}

/** Notes refused requests (HTTP 400 and above; statuses 3 to 8 of holt) instead of failing, because a block may expect them. */
const PRELUDE = `set -eu -o pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
: > "$HOME/refused"
curl() {
  local status=0
  command curl --fail-with-body "$@" || status=$?
  if [ "$status" = 22 ]; then echo "curl: $*" >> "$HOME/refused"; status=0; fi
  return "$status"
}
holt() {
  local status=0
  command holt "$@" || status=$?
  if [ "$status" -ge 3 ] && [ "$status" -le 8 ]; then echo "holt $*" >> "$HOME/refused"; status=0; fi
  return "$status"
}
__check() {
  local line=$1 expected=$2 refused name
  shift 2
  refused=$(wc -l < "$HOME/refused")
  if [ "$refused" != "$expected" ]; then
    echo "the block at line $line: $refused requests were refused, not $expected:" >&2
    cat "$HOME/refused" >&2
    exit 1
  fi
  : > "$HOME/refused"
  for name in "$@"; do
    if [ -z "\${!name-}" ] || [ "\${!name}" = null ]; then echo "the block at line $line: $name is empty" >&2; exit 1; fi
  done
}`;
