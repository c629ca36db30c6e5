/** Bars of numbers per day. The table beside it has the same numbers for people who do not see them. */
import { useComputedColorScheme, useMantineTheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface ResolvedChartProps {
  /** Seconds since 1970, ascending. */
  readonly days: readonly number[];
  readonly counts: readonly number[];
}

const HEIGHT = 220;

export default function ResolvedChart({ days, counts }: ResolvedChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const { ref, width } = useElementSize();
  const isDark = useComputedColorScheme("light") === "dark";
  const { colors } = useMantineTheme();
  useEffect(() => {
    if (host.current === null || width === 0) return;
    const ink = isDark ? colors.dark[0] : colors.gray[8];
    const lines = { stroke: isDark ? colors.dark[4] : colors.gray[3] };
    const axis = { stroke: ink, grid: lines, ticks: lines };
    const plot = new uPlot(
      {
        width,
        height: HEIGHT,
        // Days are in UTC.
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
        legend: { show: false },
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(max, 1) * 1.1] } },
        axes: [axis, axis],
        series: [
          {},
          { fill: colors.blue[6], stroke: colors.blue[6], paths: uPlot.paths.bars?.({ size: [0.7, 40] }), points: { show: false } },
        ],
      },
      [[...days], [...counts]],
      host.current,
    );
    return () => plot.destroy();
  }, [days, counts, width, isDark, colors]);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return (
    <div ref={ref}>
      <div ref={host} role="img" aria-label={`Bars: ${total} vulnerabilities resolved in ${days.length} days`} />
    </div>
  );
}
