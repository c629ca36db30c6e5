/** Checks the URL of a server before the first call. */

/**
 * The URL may have a path. A page in a browser may name its own server by a relative URL.
 * @throws TypeError for a URL that no call can be sent to
 */
export function assertBaseUrl(baseUrl: string): void {
  const { location } = globalThis as { readonly location?: { readonly href: string } };
  const url = URL.canParse(baseUrl, location?.href) ? new URL(baseUrl, location?.href) : undefined;
  if (url !== undefined && isWeb(url) && !hasCredentials(url) && !/[?#]/.test(baseUrl)) return;
  const shown = url !== undefined && hasCredentials(url) ? "a URL with credentials" : JSON.stringify(baseUrl);
  throw new TypeError(`baseUrl must be the URL of a server without a query, such as https://holt.example.com, not ${shown}`);
}

function isWeb({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

function hasCredentials({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}
