/**
 * Draws how the cost of operations grows with the number of rows, from the figures that the part `growth` wrote:
 * `node bench/growth/draw.ts p99|cpuUs growth-sqlite.json growth-postgres.json > bench/growth/growth.svg`.
 */
import { readFileSync } from "node:fs";
import type { GrowthFigure } from "./growth.ts";

const PANEL = { width: 400, height: 260, left: 56, top: 56, gap: 48 } as const;
const LEGEND_LINE = 20;
const TITLES = { p99: "99th percentile of the latency", cpuUs: "CPU time of the server per answer" } as const;
/** Colours of Okabe and Ito, which people with any colour vision can tell apart. */
const STYLES = [
  { colour: "#0072b2", dashes: "none" },
  { colour: "#d55e00", dashes: "8 4" },
  { colour: "#009e73", dashes: "2 4" },
  { colour: "#cc79a7", dashes: "12 3 2 3" },
  { colour: "#000000", dashes: "4 2" },
  { colour: "#56b4e9", dashes: "16 4" },
] as const;

type Measure = keyof typeof TITLES;

interface Point {
  readonly rows: number;
  /** Relative to the smallest size. */
  readonly ratio: number;
}

const [measure, ...paths] = process.argv.slice(2);
if ((measure !== "p99" && measure !== "cpuUs") || paths.length === 0) throw new Error("usage: draw.ts p99|cpuUs FILE...");
const figures = paths.flatMap((path) => JSON.parse(readFileSync(path, "utf8")) as GrowthFigure[]);
process.stdout.write(draw(figures, measure));

function draw(all: readonly GrowthFigure[], measure: Measure): string {
  const stores = [...Map.groupBy(all, ({ store }) => store)];
  const operations = [...new Set(all.map(({ operation }) => operation))];
  const width = stores.length * (PANEL.left + PANEL.width) + PANEL.gap;
  const legendTop = PANEL.top + PANEL.height + 56;
  const height = legendTop + operations.length * LEGEND_LINE;
  const panels = stores.map(([store, figures], i) => panel(store, pointsOf(figures, measure), i * (PANEL.left + PANEL.width)));
  const legend = operations.map((name, i) => {
    const y = legendTop + i * LEGEND_LINE;
    return `${line(PANEL.left, y, PANEL.left + 48, y, style(i))}${text(PANEL.left + 60, y + 4, name)}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="13">
<title id="title">${TITLES[measure]} by the number of rows, relative to the smallest number</title>
<desc id="desc">${stores.map(([store, figures]) => describe(store, pointsOf(figures, measure))).join(" ")}</desc>
<rect width="100%" height="100%" fill="#ffffff"/>
${text(PANEL.left, 22, `${TITLES[measure]}, relative to the smallest number of rows`, 'font-weight="bold"')}
${[...panels, ...legend].join("\n")}
</svg>
`;
}

function pointsOf(figures: readonly GrowthFigure[], measure: Measure): ReadonlyMap<string, readonly Point[]> {
  return new Map(
    [...Map.groupBy(figures, ({ operation }) => operation)].map(([operation, its]) => {
      const first = its[0]?.[measure] ?? Number.NaN;
      return [operation, its.map((figure) => ({ rows: figure.rows, ratio: figure[measure] / first }))];
    }),
  );
}

function describe(store: string, series: ReadonlyMap<string, readonly Point[]>): string {
  const last = [...series].map(([operation, points]) => {
    const { rows, ratio } = points.at(-1) as Point;
    return `${operation} ${ratio.toFixed(2)} times at ${rows.toLocaleString("en")} rows`;
  });
  return `${store}: ${last.join(", ")}.`;
}

function panel(store: string, series: ReadonlyMap<string, readonly Point[]>, offset: number): string {
  const points = [...series.values()].flat();
  const [least, most] = [Math.min(...points.map(({ rows }) => rows)), Math.max(...points.map(({ rows }) => rows))];
  const top = Math.max(2, Math.ceil(Math.max(...points.map(({ ratio }) => ratio)) * 2) / 2);
  const left = offset + PANEL.left;
  const bottom = PANEL.top + PANEL.height;
  const decades = Math.max(1, Math.log10(most / least));
  const x = (rows: number) => left + (Math.log10(rows / least) / decades) * (PANEL.width - PANEL.gap);
  const y = (ratio: number) => bottom - (ratio / top) * PANEL.height;
  const ticks = Array.from({ length: 5 }, (_, i) => (top * i) / 4);
  const grid = ticks.map(
    (ratio) => `${line(left, y(ratio), x(most), y(ratio), 'stroke="#cccccc"')}${label(left - 6, y(ratio) + 4, ratio)}`,
  );
  const sizes = [...new Set(points.map(({ rows }) => rows))].map((rows) =>
    text(x(rows), bottom + 20, rows.toLocaleString("en"), 'text-anchor="middle"'),
  );
  const lines = [...series.values()].map((its, i) => {
    const path = its.map(({ rows, ratio }) => `${x(rows).toFixed(1)},${y(ratio).toFixed(1)}`).join(" ");
    return `<polyline points="${path}" fill="none" ${style(i)}/>`;
  });
  return [text(left, PANEL.top - 12, store), ...grid, ...sizes, text(left, bottom + 38, "rows"), ...lines].join("\n");
}

function style(i: number): string {
  const { colour, dashes } = STYLES[i % STYLES.length]!;
  return `stroke="${colour}" stroke-width="2" stroke-dasharray="${dashes}"`;
}

function line(x1: number, y1: number, x2: number, y2: number, attributes: string): string {
  return `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" ${attributes}/>`;
}

function label(x: number, y: number, ratio: number): string {
  return text(x, y, `${ratio.toFixed(1)}×`, 'text-anchor="end"');
}

function text(x: number, y: number, content: string, attributes = ""): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${content}</text>`;
}
