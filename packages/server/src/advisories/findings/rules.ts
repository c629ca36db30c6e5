/** The version of the rules by which packages are compared with advisories. */

/**
 * To be increased by a change after which a comparison finds something else, so that an upgraded server compares all
 * packages again. The stored findings are those of the last comparison.
 */
export const RULES_VERSION = 2;
