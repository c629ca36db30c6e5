/** Merges what several processes answer to a scrape. The format requires that all series of a metric are together. */

interface Family {
  /** The lines `# HELP` and `# TYPE`. */
  readonly head: readonly string[];
  readonly series: string[];
}

/** @param texts in the OpenMetrics format; a label distinguishes the series of each */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) {
    let family: Family | undefined;
    let head: string[] = [];
    for (const line of text.split("\n")) {
      if (line.startsWith("# HELP ")) head = [line];
      else if (line.startsWith("# TYPE ")) {
        family = families.get(line) ?? { head: [...head, line], series: [] };
        families.set(line, family);
      } else if (line !== "" && !line.startsWith("#")) family?.series.push(line);
    }
  }
  const lines = [...families.values()].flatMap(({ head, series }) => [...head, ...series]);
  return `${[...lines, "# EOF"].join("\n")}\n`;
}
