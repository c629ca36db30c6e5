/** The program holt: finds the command, loads it alone, and runs it. */
import type { CommandEntry } from "./generated.ts";
import { VERSION } from "./version.ts";

const given = process.argv.slice(2);
/** `holt help login` is `holt login --help`. */
const line = given[0] === "help" ? [...given.slice(1), "--help"] : given;

if (line.length === 1 && (line[0] === "--version" || line[0] === "-V" || line[0] === "version")) console.log(VERSION);
else if (line[0] === "__complete") await complete(line.slice(1));
else if (line[0] === "__complete-next") await complete([...line.slice(1), ""]);
else process.exitCode = await run();

async function complete(words: readonly string[]): Promise<void> {
  const { printCompletions } = await import("./completion/complete.ts");
  await printCompletions(words);
}

/** @returns the exit status */
async function run(): Promise<number> {
  const { listenForInterrupts, interrupted } = await import("./terminal/interrupts.ts");
  listenForInterrupts();
  process.stdout.on("error", endWithoutOutput);
  try {
    await runLine();
    return Number(process.exitCode ?? 0);
  } catch (error) {
    const { reportFailure } = await import("./report-failure.ts");
    if (interrupted.aborted) return 130;
    return reportFailure(error, { isVerbose: line.includes("-v") || line.includes("--verbose") });
  }
}

/** A reader such as `head` that has seen enough is not a failure. */
function endWithoutOutput({ code, message }: NodeJS.ErrnoException): never {
  if (code === "EPIPE") process.exit(0);
  process.stderr.write(`holt: cannot write the output: ${message}\n`);
  process.exit(1);
}

async function runLine(): Promise<void> {
  const { readCommands } = await import("./generated.ts");
  const { findCommand } = await import("./command/find-command.ts");
  const commands = readCommands();
  const { entry, words, rest } = findCommand(commands, line);
  const isHelp = rest.some((word, index) => (word === "-h" || word === "--help") && !rest.slice(0, index).includes("--"));
  if (entry === undefined) return showGroup(commands, words, rest, isHelp);
  const { loadVerb } = await import("./command/load-verb.ts");
  const verb = await loadVerb(entry);
  if (isHelp) return void process.stdout.write((await import("./command/help.ts")).helpOfVerb(verb));
  const { parseLine } = await import("./command/parse-line.ts");
  const { createInvocation } = await import("./command/create-invocation.ts");
  await verb.run(createInvocation(parseLine(verb, rest)));
}

async function showGroup(
  commands: readonly CommandEntry[],
  words: readonly string[],
  rest: readonly string[],
  isHelp: boolean,
): Promise<void> {
  const { helpOfGroup } = await import("./command/help.ts");
  const { firstUnknown } = await import("./command/find-command.ts");
  // Help explains the beginning of a line, whatever follows.
  const unknown = firstUnknown(isHelp ? rest.slice(0, 1) : rest);
  if (unknown !== undefined) {
    const { unknownCommand } = await import("./command/unknown-command.ts");
    throw unknownCommand(commands, words, unknown);
  }
  process.stdout.write(helpOfGroup(commands, words));
}
