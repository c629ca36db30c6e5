/** Sends one mail over SMTP. The library is loaded with the first mail. */
import { hostname } from "node:os";
import type { Transporter } from "nodemailer";
import { escapeMarkup } from "../lib/markup.ts";
import type { Mail } from "./mail.ts";

export interface SmtpSettings {
  /** `smtp://` or `smtps://`, with user and password. */
  readonly smtpUrl: string;
  /** `Holt <holt@example.com>` or an address. */
  readonly smtpFrom: string;
}

/** Parts that only tests replace. */
export interface SmtpParts {
  /** PEM of an additional certificate authority. */
  readonly ca?: string;
}

export interface SmtpSender {
  /** @param uid names the mail, so that a mail that was sent twice can be recognized. @throws SmtpFailure */
  send(uid: string, mail: Mail): Promise<void>;
}

/** The text has neither the password nor the recipient's address. */
export class SmtpFailure extends Error {
  override readonly name = "SmtpFailure";
  /** Whether the mail server will never accept this mail. */
  readonly isPermanent: boolean;
  constructor(message: string, isPermanent: boolean) {
    super(message);
    this.isPermanent = isPermanent;
  }
}

const CONNECT_TIMEOUT_MS = 10_000;
const SOCKET_TIMEOUT_MS = 30_000;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { "smtp:": 587, "smtps:": 465 };

export function createSmtpSender({ smtpUrl, smtpFrom }: SmtpSettings, { ca }: SmtpParts = {}): SmtpSender {
  const from = parseMailbox(smtpFrom);
  const options = smtpOptions(smtpUrl, ca);
  let transport: Promise<Transporter> | undefined;
  const load = async (): Promise<Transporter> => (await import("nodemailer")).createTransport(options);
  return {
    async send(uid, { to, subject, text }) {
      transport ??= load();
      const mailer = await transport;
      try {
        await mailer.sendMail({
          from,
          // As objects, so that nothing in an address is read as a list or as a header.
          to: { name: "", address: to },
          envelope: { from: from.address, to: [to] },
          subject: singleLine(subject),
          text,
          html: htmlFromText(text),
          messageId: `<${uid}@${from.address.split("@").at(-1)}>`,
          headers: { "Auto-Submitted": "auto-generated" },
          disableFileAccess: true,
          disableUrlAccess: true,
        });
      } catch (error) {
        throw failureFrom(error);
      }
    },
  };
}

/** A password travels only over TLS, except to this machine. */
function smtpOptions(smtpUrl: string, ca: string | undefined) {
  const url = new URL(smtpUrl);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const user = decodeURIComponent(url.username);
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);
  return {
    host,
    port: url.port === "" ? (DEFAULT_PORTS[url.protocol] ?? 587) : Number(url.port),
    name: hostname(),
    secure: url.protocol === "smtps:",
    requireTLS: user !== "" && !isLocal,
    ...(user !== "" && { auth: { user, pass: decodeURIComponent(url.password) } }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    ...(ca !== undefined && { tls: { ca } }),
  };
}

export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/** @param text `Name <address>` or an address, which config.ts has checked */
function parseMailbox(text: string): Mailbox {
  const [, name = "", address = ""] = /^(.*?)\s*<([^<>]+)>$/.exec(text) ?? [];
  return address === "" ? { name: "", address: text.trim() } : { name: name.trim(), address };
}

function singleLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
}

/** Paragraphs, with links where a line is a URL. */
function htmlFromText(text: string): string {
  const paragraphs = text.split(/\n{2,}/).map((paragraph) => `<p>${paragraph.split("\n").map(htmlFromLine).join("<br>\n")}</p>`);
  return `<!doctype html>\n<html lang="en"><body>\n${paragraphs.join("\n")}\n</body></html>\n`;
}

function htmlFromLine(line: string): string {
  const escaped = escapeMarkup(line);
  return /^https?:\/\/\S+$/.test(line) ? `<a href="${escaped}">${escaped}</a>` : escaped;
}

/** Other refusals, such as of the password, may end: the operator corrects the settings, and the mails are sent. */
function failureFrom(error: unknown): SmtpFailure {
  const { code, command = "", responseCode } = error as { code?: string; command?: string; responseCode?: number };
  const isAboutMail = command === "RCPT TO" || command === "DATA";
  const isPermanent = responseCode !== undefined && responseCode >= 500 && isAboutMail;
  return new SmtpFailure(
    [code ?? "error", command, responseCode].filter((part) => part !== "" && part !== undefined).join(" "),
    isPermanent,
  );
}
