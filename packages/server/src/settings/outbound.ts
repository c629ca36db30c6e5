/** Settings of outbound connections and of mail. */
import { parseCidr, parseSmtpFrom, parseSmtpUrl } from "./addresses.ts";
import type { SettingGroup } from "./setting.ts";
import { parseInteger, parseList } from "./values.ts";

export const outboundSettings = {
  outboundAllowCidrs: {
    env: "HOLT_OUTBOUND_ALLOW_CIDRS",
    fallback: "",
    doc: "Private networks that Holt may connect to, for OIDC issuers, webhooks and mirrors. Comma-separated CIDRs such as `10.0.0.0/8,fd00::/8`. Empty: public addresses only.",
    parse: (text) => parseList(text).map(parseCidr),
  },
  /** `smtp://` or `smtps://` with user and password; empty for no mail. */
  smtpUrl: {
    env: "HOLT_SMTP_URL",
    fallback: "",
    isSecret: true,
    doc: "Mail server that takes Holt's mails, such as `smtp://user:password@mail.example.com:587` or `smtps://mail.example.com`. Special characters of user and password are percent-encoded. `smtp://` uses STARTTLS if the server offers it, and requires it if there is a password. Empty: Holt sends no mail, and links are passed on by people.",
    parse: parseSmtpUrl,
  },
  smtpFrom: {
    env: "HOLT_SMTP_FROM",
    fallback: "",
    doc: "Sender of mails: an address, or `Name <address>`. Required with HOLT_SMTP_URL.",
    parse: parseSmtpFrom,
  },
  maxMailsPerHour: {
    env: "HOLT_MAX_MAILS_PER_HOUR",
    fallback: "2000",
    doc: "Mails that all organizations together may cause within an hour. Notices about people's own accounts do not count.",
    parse: parseInteger(1, 1_000_000_000),
  },
} satisfies SettingGroup;
