/** The version of the rules by which packages are compared with advisories. */

/**
 * Increase it with each change of what a comparison finds. An upgraded server then compares all packages again. The
 * stored findings are those of the last comparison.
 */
export const RULES_VERSION = 4;
