/** SCIM 2.0 at `/scim/v2/`: users and groups that a company's directory provisions. */
import type { Platform, Served } from "../api/domain.ts";
import { loadOnFirstRequest } from "../http/lazy-handler.ts";
import type { Iam } from "../iam/iam.ts";

export function startScim(platform: Platform, { grants }: Iam): Served {
  const { store, clock, log, memory, parsers, baseUrl, frame } = platform;
  const serve = loadOnFirstRequest(async () => {
    const { createScimHandler } = await import("./http/scim-handler.ts");
    return createScimHandler({ frame, store, grants, clock, memory, parsers, baseUrl });
  }, log);
  return { mounts: [{ paths: ["/scim/v2/*"], serve }] };
}
