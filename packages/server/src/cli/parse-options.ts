/** Parses the options of a command that has its own `--help`. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { optionProblemOf } from "./option-problem.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Values = Readonly<Record<string, string | boolean | undefined>>;

export interface Given {
  readonly values: Values;
  readonly positionals: readonly string[];
}

export interface CommandSpec {
  readonly usage: string;
  readonly options: Options;
  /** Number of arguments besides the options; undefined if the command checks them. */
  readonly positionals: number | undefined;
}

/** Runs `work` with the options, or prints the usage. @returns the exit status: 2 for a wrong command line */
export async function withOptions(spec: CommandSpec, args: readonly string[], work: (given: Given) => Promise<number>): Promise<number> {
  let given: Given;
  const options: Options = { ...spec.options, help: { type: "boolean", short: "h" } };
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    if (values.help === true) {
      console.log(spec.usage);
      return 0;
    }
    assertCount(positionals, spec.positionals);
    given = { values: values as Values, positionals };
  } catch (error) {
    return refuse(await optionProblemOf(error, Object.keys(options)), spec);
  }
  return work(given);
}

/** Prints what is wrong with a command line. @returns the exit status */
export function refuse(message: string, { usage }: CommandSpec): number {
  console.error(`holtd: ${message}\n\n${usage}`);
  return 2;
}

function assertCount(positionals: readonly string[], count: number | undefined): void {
  if (count === undefined || (positionals.length === count && !positionals.includes(""))) return;
  throw new Error(`the command takes ${["no argument", "one argument", "two arguments"][count]}`);
}
