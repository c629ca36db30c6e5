import assert from "node:assert/strict";
import { test } from "node:test";
import { Severity_Type } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { isCvssVector } from "./cvss-vector.ts";

const { CVSS_V2, CVSS_V3, CVSS_V4 } = Severity_Type;
const V3 = "AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
const V4 = "AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:L/VA:N/SC:N/SI:N/SA:N";

test("vectors of each version are accepted", () => {
  for (const [version, vector] of [
    [CVSS_V2, "AV:N/AC:L/Au:N/C:P/I:P/A:C"],
    [CVSS_V2, "AV:L/AC:H/Au:M/C:N/I:N/A:N/E:POC/RL:OF/RC:UR/CDP:LM/TD:H/CR:M/IR:ND/AR:L"],
    [CVSS_V3, `CVSS:3.0/${V3}`],
    [CVSS_V3, "CVSS:3.1/A:N/I:L/C:H/S:C/UI:R/PR:H/AC:H/AV:P"],
    [CVSS_V3, `CVSS:3.1/${V3}/E:F/RL:W/RC:C/MAV:A/MS:X/MA:L`],
    [CVSS_V4, `CVSS:4.0/${V4}`],
    [CVSS_V4, `CVSS:4.0/${V4}/E:A/CR:H/MSI:S/S:P/AU:Y/R:I/V:C/RE:M/U:Amber`],
  ] as const)
    assert.equal(isCvssVector(version, vector), true, vector);
});

test("strings that are not vectors of the version are refused", () => {
  for (const [version, vector] of [
    [CVSS_V2, ""],
    [CVSS_V2, "7.5"],
    [CVSS_V2, "AV:N/AC:L/Au:N/C:P/I:P"],
    [CVSS_V2, "AV:N/AC:L/Au:N/C:P/I:P/A:H"],
    [CVSS_V3, V3],
    [CVSS_V3, `CVSS:3.2/${V3}`],
    [CVSS_V3, `CVSS:4.0/${V3}`],
    [CVSS_V3, `CVSS:3.1/${V3}/`],
    [CVSS_V3, `CVSS:3.1/${V3}/A:L`],
    [CVSS_V3, `CVSS:3.1/${V3}/XX:Y`],
    [CVSS_V3, `CVSS:3.1/${V3.replace("AV:N", "AV:N:N")}`],
    [CVSS_V3, `CVSS:3.1/${V3.toLowerCase()}`],
    [CVSS_V3, `CVSS:3.1/${V3}${"/E:X".repeat(1000)}`],
    [CVSS_V4, `CVSS:4.0/${V4.replace("AV:N/AC:L", "AC:L/AV:N")}`],
    [CVSS_V4, `CVSS:4.0/${V4}/U:amber`],
    [CVSS_V4, `CVSS:4.0/${V4.replace("/AT:N", "")}`],
  ] as const)
    assert.equal(isCvssVector(version, vector), false, vector);
});
