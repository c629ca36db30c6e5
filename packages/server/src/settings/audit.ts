/** Settings of the audit log. */
import { parseUrl } from "./addresses.ts";
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, matching, orZero, parseDuration, parseList } from "./values.ts";

export const auditSettings = {
  /** 0 for ever. */
  auditRetentionMs: {
    env: "HOLT_AUDIT_RETENTION",
    fallback: "8760h",
    doc: "Retention of audit entries. `0` keeps them for ever. The chains of organizations stay verifiable.",
    parse: orZero(parseDuration(1000, 100 * 365 * 24 * HOUR_MS)),
  },
  auditCheckpointMs: {
    env: "HOLT_AUDIT_CHECKPOINT",
    fallback: "1m",
    doc: "Time between two signed checkpoints of an audit chain that grows.",
    parse: parseDuration(100, 24 * HOUR_MS),
  },
  /** Names of operations; a `*` at the end stands for any rest. */
  auditReads: {
    env: "HOLT_AUDIT_READS",
    fallback: "",
    doc: "Operations whose successful reads are audited too, as comma-separated names with or without a `*` at the end, such as `platform.iam.*,holt.v1.AccountsService/*`. Empty: changes, tokens, sign-ins and refusals only.",
    parse: (text) =>
      parseList(text).map((name) =>
        matching(/^[\w./]+\*?$/, name, "names of operations such as platform.iam.v2.GroupsService/GetGroup or platform.iam.*"),
      ),
  },
  auditStreams: {
    env: "HOLT_AUDIT_STREAMS",
    fallback: "",
    isSecret: true,
    doc: "Where sealed audit entries are sent, at least once, as comma-separated URLs: `file:///var/log/holt/audit.jsonl`, `syslog+tcp://host:601`, `syslog+tls://host:6514`, or `https://` of a webhook. A webhook in a private network needs HOLT_OUTBOUND_ALLOW_CIDRS.",
    parse: (text) => parseList(text).map(parseAuditStream),
  },
} satisfies SettingGroup;

/** The place of a stream of audit entries. */
function parseAuditStream(text: string): URL {
  const url = parseUrl(text, ["file:", "syslog+tcp:", "syslog+tls:", "https:", "http:"]);
  if (url.protocol === "file:" && (url.host !== "" || url.pathname.endsWith("/")))
    throw new Error("file:// and the absolute path of a file, such as file:///var/log/holt/audit.jsonl");
  const isSyslog = url.protocol.startsWith("syslog+");
  if (isSyslog && (url.hostname === "" || !["", "/"].includes(url.pathname)))
    throw new Error("a host and a port without a path, such as syslog+tls://host:6514");
  return url;
}
