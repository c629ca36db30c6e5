/** Says what is wrong with the options of a command line. */

/**
 * @param error of `parseArgs`, whose message explains positional arguments after an unknown option
 * @param known names of the options, without dashes
 */
export async function optionProblemOf(error: unknown, known: readonly string[]): Promise<string> {
  const message = (error as Error).message.replace(/\. To specify a positional argument.*$/s, "");
  const [, unknown] = /^Unknown option '(--[^']+)'$/.exec(message) ?? [];
  if (unknown === undefined) return message;
  // Only a mistake needs the module, which every start would load.
  const { didYouMean } = await import("../lib/nearest.ts");
  const options = known.map((name) => `--${name}`);
  return `${message}${didYouMean(unknown, options)}`;
}
