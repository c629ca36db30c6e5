/** A mail server that keeps what it receives. */
import type { AddressInfo } from "node:net";
import { generate } from "selfsigned";
import { SMTPServer } from "smtp-server";
import { until } from "./wait.ts";

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body. */
  readonly message: string;
  readonly user: string | undefined;
  readonly isSecure: boolean;
}

export interface MailServer extends AsyncDisposable {
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  /** Users and passwords of all attempts to log in. */
  readonly logins: readonly string[];
  /** PEM of the server's certificate. */
  readonly ca: string;
  /** Waits until the server has received this many mails. */
  take(count: number): Promise<readonly ReceivedMail[]>;
}

export interface MailServerOptions {
  readonly port?: number;
  /** The password of every user; without it, the server asks for none. */
  readonly password?: string;
  readonly hasStartTls?: boolean;
  /** Speaks TLS from the first byte. */
  readonly isSecure?: boolean;
  /** The answer to an address: undefined to accept it, or a status to refuse it. */
  readonly refuse?: (address: string) => number | undefined;
}

export async function startMailServer({ port = 0, password, hasStartTls, isSecure, refuse }: MailServerOptions = {}): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  const logins: string[] = [];
  const { private: key, cert } = await generate([{ name: "commonName", value: "localhost" }], {
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  const server = new SMTPServer({
    key,
    cert,
    secure: isSecure ?? false,
    disableReverseLookup: true,
    allowInsecureAuth: true,
    authOptional: password === undefined,
    disabledCommands: [...(password === undefined ? ["AUTH"] : []), ...(hasStartTls ? [] : ["STARTTLS"])],
    onAuth({ username = "", password: given }, _session, done) {
      logins.push(`${username}:${given}`);
      if (given === password) done(null, { user: username });
      else done(Object.assign(new Error("wrong password"), { responseCode: 535 }));
    },
    onRcptTo({ address }, _session, done) {
      const status = refuse?.(address);
      done(status === undefined ? undefined : Object.assign(new Error("refused"), { responseCode: status }));
    },
    onData(stream, { envelope, user, secure }, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => void chunks.push(chunk));
      stream.on("end", () => {
        const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        received.push({ from, to, message: Buffer.concat(chunks).toString("utf8"), user: user as string | undefined, isSecure: secure });
        done();
      });
    },
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    logins,
    ca: cert,
    async take(count) {
      await until(() => received.length >= count);
      return received;
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** The plain text of a mail, decoded. */
export function textOfMail({ message }: ReceivedMail): string {
  const [, headers = "", body = ""] = /Content-Type: text\/plain([\s\S]*?)\r\n\r\n([\s\S]*?)\r\n--/.exec(message) ?? [];
  if (/base64/.test(headers)) return Buffer.from(body, "base64").toString("utf8");
  const joined = body.replace(/=\r\n/g, "");
  const bytes = joined.replace(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return /quoted-printable/.test(headers) ? Buffer.from(bytes, "latin1").toString("utf8") : body;
}
