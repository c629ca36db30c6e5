import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeMetrics } from "./merge-metrics.ts";

test("the series of a metric from several processes are together, below one declaration", () => {
  const of = (process: number) => `# HELP a A.
# TYPE a gauge
a{process="${process}"} ${process}
# HELP b B.
# TYPE b counter
b_total{process="${process}"} 1
# EOF
`;
  assert.equal(
    mergeMetrics([of(1), of(2)]),
    `# HELP a A.
# TYPE a gauge
a{process="1"} 1
a{process="2"} 2
# HELP b B.
# TYPE b counter
b_total{process="1"} 1
b_total{process="2"} 1
# EOF
`,
  );
});

test("a process without an answer, and a metric that only one process has, leave a valid answer", () => {
  assert.equal(
    mergeMetrics(["", '# HELP a A.\n# TYPE a gauge\na{process="2"} 2\n# EOF\n']),
    '# HELP a A.\n# TYPE a gauge\na{process="2"} 2\n# EOF\n',
  );
  assert.equal(mergeMetrics([]), "# EOF\n");
});
