/** Mail domains where everybody can get an address, so that the domain does not tell the employer. */

/** Providers that have a domain in many countries: `yahoo.co.uk`. */
const PROVIDERS: ReadonlySet<string> = new Set(["gmx", "hotmail", "live", "outlook", "yahoo", "yandex"]);

const DOMAINS: ReadonlySet<string> = new Set([
  "126.com",
  "163.com",
  "aol.com",
  "att.net",
  "btinternet.com",
  "comcast.net",
  "cox.net",
  "duck.com",
  "fastmail.com",
  "fastmail.fm",
  "foxmail.com",
  "free.fr",
  "freenet.de",
  "gmail.com",
  "googlemail.com",
  "hey.com",
  "hushmail.com",
  "icloud.com",
  "inbox.ru",
  "laposte.net",
  "libero.it",
  "list.ru",
  "mac.com",
  "mail.com",
  "mail.ru",
  "mailbox.org",
  "mailinator.com",
  "me.com",
  "msn.com",
  "naver.com",
  "orange.fr",
  "passport.com",
  "pm.me",
  "posteo.de",
  "proton.me",
  "protonmail.ch",
  "protonmail.com",
  "qq.com",
  "rediffmail.com",
  "riseup.net",
  "rocketmail.com",
  "sbcglobal.net",
  "seznam.cz",
  "sina.com",
  "t-online.de",
  "tuta.com",
  "tuta.io",
  "tutanota.com",
  "users.noreply.github.com",
  "verizon.net",
  "web.de",
  "wp.pl",
  "ya.ru",
  "ymail.com",
  "zoho.com",
  "zohomail.com",
]);

/** @param domain in lower case */
export function isFreeMail(domain: string): boolean {
  const [provider = "", ...suffix] = domain.split(".");
  return DOMAINS.has(domain) || (PROVIDERS.has(provider) && suffix.length <= 2);
}
