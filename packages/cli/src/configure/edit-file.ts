/** Edits of text files. Pure, except that the current content is read. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { FileChange, Target } from "./tool.ts";

export function inHome(...segments: readonly string[]): string {
  return join(homedir(), ...segments);
}

export function xdgConfig(...segments: readonly string[]): string {
  return join(process.env.XDG_CONFIG_HOME || inHome(".config"), ...segments);
}

export function changeFile(path: string, edit: (before: string) => string, isSecret = false): FileChange {
  const before = readIfPresent(path);
  return { path, before, after: edit(before ?? ""), isSecret };
}

export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const BLOCK = /^# holt (\w+): begin\n[\s\S]*?^# holt \1: end\n/gm;

/** The blocks of a file, by the tools that they are for. */
function blocksIn(text: string): Map<string, string> {
  return new Map([...text.matchAll(BLOCK)].map(([block, tool = ""]) => [tool, block]));
}

/** Appends the block of a tool, or replaces it if it is there. Tools can share a file, so each has a block of its own. */
export function withBlock(text: string, tool: string, lines: string): string {
  const marked = `# holt ${tool}: begin\n${lines.trimEnd()}\n# holt ${tool}: end\n`;
  const existing = blocksIn(text).get(tool);
  if (existing !== undefined) return text.replace(existing, () => marked);
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${marked}`;
}

/** Removes the block that a change wrote, or restores the one from before. Blocks of other tools stay. */
export function withoutBlockOf({ before = "", after }: FileChange, text: string): string {
  const earlier = blocksIn(before);
  const written = [...blocksIn(after)].filter(([tool, block]) => block !== earlier.get(tool));
  return written.reduce((rest, [tool, block]) => rest.replace(block, () => earlier.get(tool) ?? ""), text);
}

/** Whether a file has nothing but blocks of holt. */
export function hasOnlyBlocks(text: string): boolean {
  return text !== "" && text.replace(BLOCK, "") === "";
}

/** Sets a key of a section of an INI file, and leaves all other lines as they are. */
export function withIniValue(text: string, section: string, line: string): string {
  const key = line.split("=")[0]?.trim() ?? "";
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const start = lines.findIndex((each) => each.trim() === `[${section}]`);
  if (start < 0) return [...lines, ...(lines.length === 0 ? [] : [""]), `[${section}]`, line, ""].join("\n");
  const next = lines.findIndex((each, index) => index > start && /^\s*\[/.test(each));
  const end = next < 0 ? lines.length : next;
  const at = lines.findIndex((each, index) => index > start && index < end && each.split("=")[0]?.trim() === key);
  if (at < 0) lines.splice(start + 1, 0, line);
  else lines.splice(at, 1, line);
  return [...lines, ""].join("\n");
}

/** Inserts an element into a parent of an XML file, which is created if the file has none. */
export function withXmlElement(text: string, parent: string, element: string): string {
  if (text.includes(element)) return text;
  const open = `<${parent}>`;
  const withParent = text.includes(open) ? text : text.replace("</settings>", `  ${open}\n  </${parent}>\n</settings>`);
  return withParent.replace(open, () => `${open}\n    ${element}`);
}

/** The login in ~/.netrc, which pip, uv and curl read. Its hosts have no port. */
export function netrc(tool: string, { url, userName, password }: Target): FileChange {
  const machine = new URL(url).hostname;
  const line = `machine ${machine} login ${userName} password ${password}`;
  return changeFile(process.env.NETRC || inHome(".netrc"), (text) => withBlock(text, tool, line), true);
}
