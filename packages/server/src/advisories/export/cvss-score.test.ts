import assert from "node:assert/strict";
import { test } from "node:test";
import { cvss2BaseScore, cvss3BaseScore, severityOf } from "./cvss-score.ts";

test("base scores of version 3 are those of the examples in the standard", () => {
  for (const [vector, score, severity] of [
    ["CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:U/C:H/I:H/A:H", 8.8, "HIGH"],
    ["CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", 6.1, "MEDIUM"],
    ["CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H", 10, "CRITICAL"],
    ["CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N", 3.1, "LOW"],
    ["CVSS:3.1/AV:L/AC:L/PR:H/UI:N/S:C/C:N/I:H/A:N", 6, "MEDIUM"],
    ["CVSS:3.1/AV:P/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N", 0, "NONE"],
    ["CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H/E:P/RL:O", 7.5, "HIGH"],
  ] as const) {
    assert.equal(cvss3BaseScore(vector), score, vector);
    assert.equal(severityOf(score), severity);
  }
});

test("base scores of version 2 are those of the examples in the standard", () => {
  for (const [vector, score] of [
    ["AV:N/AC:L/Au:N/C:N/I:N/A:C", 7.8],
    ["AV:N/AC:L/Au:N/C:C/I:C/A:C", 10],
    ["AV:L/AC:H/Au:N/C:C/I:C/A:C", 6.2],
    ["AV:N/AC:M/Au:N/C:N/I:P/A:N", 4.3],
    ["AV:N/AC:L/Au:N/C:N/I:N/A:N", 0],
  ] as const)
    assert.equal(cvss2BaseScore(vector), score, vector);
});
