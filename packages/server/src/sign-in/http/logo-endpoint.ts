/** Serves the logos of organizations from this origin. An SVG image is never part of a page, and runs no script by itself. */
import type { Store } from "../../db/store.ts";
import { createStaticAsset, sendAsset } from "../../http/static-asset.ts";
import { findLogo } from "../../iam/policy/organization-page.ts";
import { SignInRefusal } from "../refusal.ts";
import type { Endpoint } from "./sign-in-exchange.ts";

const LOGO_HEADERS = {
  "cache-control": "public, max-age=86400",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
};

/** @returns the endpoint by its path */
export function createLogoEndpoint(store: Store): readonly (readonly [string, Endpoint])[] {
  const endpoint: Endpoint = {
    method: "GET",
    async serve({ request, response, query }) {
      const logo = await findLogo(store.reader, new URLSearchParams(query).get("organization") ?? "");
      if (logo === undefined) throw new SignInRefusal(404, "There is no such image.");
      sendAsset(request, response, createStaticAsset(logo.type, logo.bytes), LOGO_HEADERS);
    },
  };
  return [["/oauth/logo", endpoint]];
}
