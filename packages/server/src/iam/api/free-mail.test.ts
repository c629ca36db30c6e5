import assert from "node:assert/strict";
import { test } from "node:test";
import { isFreeMail } from "./free-mail.ts";

test("addresses that everybody can get do not tell the company", () => {
  for (const domain of ["gmail.com", "yahoo.com", "yahoo.co.uk", "outlook.de", "gmx.net", "proton.me", "users.noreply.github.com"])
    assert.ok(isFreeMail(domain), domain);
});

test("addresses of other domains tell it, also of domains that look similar", () => {
  for (const domain of ["acme.com", "mail.acme.com", "gmail.com.acme.com", "notgmail.com", "yahoo.eng.acme.com", "live.mail.acme.com"])
    assert.ok(!isFreeMail(domain), domain);
});
