// Advisories in each state of review, and an import with a problem.
import { setTimeout as sleep } from "node:timers/promises";

const CRITICAL = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
const MEDIUM = "CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:L/A:N";
const VULNERABILITIES = [
  { id: "CVE-2026-9001", summary: "A crafted handshake overruns a buffer", score: CRITICAL },
  { id: "CVE-2026-9002", summary: "A long window exhausts memory", score: MEDIUM },
];
const detected = { detection: { manual: {} }, status: "APPROVED" };

const ADVISORIES = [
  {
    name: "openssl",
    alias: "CVE-2026-9001",
    events: [
      detected,
      { truePositiveDetermination: { note: "The code is reachable from the network." }, status: "APPROVED" },
      { fixed: { fixedVersion: "3.5.1-r0" }, status: "APPROVED" },
    ],
  },
  { name: "zlib", alias: "CVE-2026-9002", events: [detected, { fixed: { fixedVersion: "1.3.1-r2" }, status: "PENDING" }] },
  { name: "curl", alias: "CVE-2026-9003", events: [{ ...detected, status: "PENDING" }] },
  {
    name: "busybox",
    alias: "CVE-2026-9004",
    events: [
      detected,
      {
        falsePositiveDetermination: { type: "VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE", note: "The applet is not built." },
        status: "APPROVED",
      },
    ],
  },
];

export async function fillAdvisories({ api, organization, folders }) {
  const roleUid = await api.role("advisories.admin");
  await api.post(`/iam/v2/roleBindings/${organization.uid}`, { identityUid: await api.self(), roleUid });
  await importRecords(api, folders.platform, "IMPORT_KIND_VULNERABILITIES", "vulnerabilities.json", VULNERABILITIES.map(osvOf));
  for (const { name: artifactName, alias, events } of ADVISORIES) {
    const advisory = { artifactType: "apk", artifactName, aliases: [alias], events };
    await api.post("/vulnerabilities/v1/advisories", { parentId: folders.platform, advisory });
  }
  const record = { ...osvOf({ id: "GO-2026-0100", summary: "A parser loops" }), affected: [affectedOf("nginx")] };
  await importRecords(api, folders.platform, "IMPORT_KIND_ADVISORIES", "upstream.json", [record, { ...record, id: "" }]);
}

function osvOf({ id, summary, score }) {
  const modified = new Date(Date.now() - 86_400_000).toISOString();
  return { schema_version: "1.7.0", id, modified, summary, ...(score && { severity: [{ type: "CVSS_V3", score }] }) };
}

function affectedOf(name) {
  return { package: { ecosystem: "Wolfi", name }, ranges: [{ type: "ECOSYSTEM", events: [{ introduced: "0" }] }] };
}

/** Returns when the import is done. */
async function importRecords(api, parent, kind, fileName, records) {
  const { uid } = await api.post(`/holt/v1/imports/${parent}`, { kind, fileName });
  const data = Buffer.from(JSON.stringify(records)).toString("base64");
  await api.post(`/holt/v1/imports/${uid}:write`, { data });
  await api.post(`/holt/v1/imports/${uid}:start`, {});
  for (;;) {
    const { state, error } = await api.get(`/holt/v1/imports/${uid}`);
    if (state === "STATE_DONE") return;
    if (state === "STATE_FAILED") throw new Error(`the import of ${fileName} failed: ${error}`);
    await sleep(200);
  }
}
