/** Serves `/libraries/<protocol>/<owner>/…`: authenticates the caller and hands the request to the protocol of the package manager. */
import { actorFromPrincipal } from "../../access/actor.ts";
import { isAnonymous } from "../../access/principal.ts";
import type { RequestHandler } from "../../http/http-exchange.ts";
import type { ProtocolExchange, ProtocolFrame } from "../../http/protocol-frame.ts";
import type { RegistryAuthenticator } from "../../iam/content-login/authenticate.ts";
import type { ContentCaller } from "../../iam/content-login/content-callers.ts";
import { invalidArgument, notFound, unauthenticated } from "../../lib/errors.ts";
import { sendLibraryError } from "./error.ts";
import type { LibraryParts, LibraryProtocol } from "./library-request.ts";

export interface LibrariesOptions {
  readonly frame: ProtocolFrame;
  readonly parts: LibraryParts;
  readonly authenticator: Pick<RegistryAuthenticator, "authenticate">;
  /** The protocols by their segment of the path. */
  readonly protocols: ReadonlyMap<string, LibraryProtocol>;
}

export function createLibrariesHandler(options: LibrariesOptions): RequestHandler {
  return options.frame({
    name: "libraries",
    storesContent: true,
    createState: () => undefined,
    serve: (exchange) => serve(exchange, options),
    refuse: ({ response, reportFault }, error) => sendLibraryError(response, error, reportFault),
    // The path contains no secret: clients send the password of a URL in a header.
    logFields: ({ path }) => ({ path }),
  });
}

async function serve(exchange: ProtocolExchange, { parts, authenticator, protocols }: LibrariesOptions): Promise<void> {
  const { request, response, method, remoteAddress } = exchange;
  const caller = await authenticator.authenticate(request.headers.authorization, remoteAddress);
  if (caller === undefined) throw unauthenticated("log in: libraries do not serve anonymous callers");
  exchange.identify(isAnonymous(caller.principal) ? undefined : caller.principal.uid);
  assertServesLibraries(caller);
  if (isAnonymous(caller.principal) && method !== "GET" && method !== "HEAD") throw unauthenticated("log in to change a library");
  const [protocol = "", owner = "", ...path] = segmentsOf(exchange.path);
  const serveProtocol = protocols.get(protocol);
  if (serveProtocol === undefined || owner === "") throw notFound("Library", `${protocol}/${owner}`.slice(0, 200));
  const origin = {
    remoteAddress,
    userAgent: request.headers["user-agent"]?.slice(0, 256) ?? "",
    actor: { ...actorFromPrincipal(caller.principal, caller.access), remoteAddress: exchange.remoteAddress },
  };
  const transfer: ProtocolExchange["transfer"] = (work) => exchange.transfer(work);
  await serveProtocol({ request, response, method, owner, path, caller, origin, transfer }, parts);
}

/** A registry token is valid for the access that it lists, all of which is in the registry. */
function assertServesLibraries({ principal: { registryAccess } }: ContentCaller): void {
  if (registryAccess === undefined) return;
  throw unauthenticated("this token is only for the registry; log in to libraries with an access token or a pull token");
}

/** The decoded segments of the path after `/libraries/`. */
function segmentsOf(path: string): readonly string[] {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch (error) {
    throw Object.assign(invalidArgument("path", "the path has a malformed percent-encoding"), { cause: error });
  }
  if (/\p{Cc}/u.test(decoded)) throw invalidArgument("path", "the path has control characters");
  // Splits before decoding, because an encoded slash does not separate segments.
  return path.slice("/libraries/".length).split("/").map(decodeURIComponent);
}
