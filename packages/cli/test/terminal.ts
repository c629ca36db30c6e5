/** Runs holt at a pseudo-terminal, which the program `script` of util-linux provides. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { until, within } from "../../server/test/harness/wait.ts";
import { type CommandLine, PROGRAM } from "./harness.ts";

const hasTerminal = /util-linux/.test(spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "");
/** For the option `skip` of tests. */
export const withoutTerminal = hasTerminal ? false : "the program script is not installed";

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The text that the person types after each question. */
  readonly answers?: readonly (readonly [question: RegExp, answer: string])[];
}

export interface TerminalEnded {
  readonly status: number | null;
  /** Everything that the terminal showed. */
  readonly shown: string;
}

/** Runs a command in a terminal of 60 columns. */
export async function runInTerminal(holt: CommandLine, args: readonly string[], options: TerminalOptions = {}): Promise<TerminalEnded> {
  const { env = {}, answers = [] } = options;
  const command = `stty cols 60; '${process.execPath}' '${PROGRAM}' ${args.map((arg) => `'${arg}'`).join(" ")}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: holt.environment({ TERM: "xterm", SHELL: "/bin/sh", ...env }),
    stdio: "pipe",
  });
  let shown = "";
  let isOver = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
  child.stdin.on("error", () => {});
  const ended = once(child, "close").then(([status]) => {
    isOver = true;
    return status as number | null;
  });
  let seen = 0;
  for (const [question, answer] of answers) {
    await until(() => isOver || question.test(shown.slice(seen)));
    seen = shown.length;
    child.stdin.write(answer);
  }
  return { status: await within(ended, () => shown), shown };
}
