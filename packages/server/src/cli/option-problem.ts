/** Says what is wrong with the options of a command line. */

/** @param error of `parseArgs`, whose message explains positional arguments after an unknown option */
export function optionProblemOf(error: unknown): string {
  return (error as Error).message.replace(/\. To specify a positional argument.*$/s, "");
}
