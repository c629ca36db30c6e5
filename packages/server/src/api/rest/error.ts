/** Converts errors to REST: an HTTP status and the JSON of google.rpc.Status, without empty fields in the details. */
import { toJson } from "@bufbuild/protobuf";
import { httpStatusOf } from "../../http/error-status.ts";
import { type HttpResponse, send } from "../../http/http-exchange.ts";
import { Code, type HoltError } from "../../lib/errors.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { type ErrorContext, errorDetails, typeUrlOf, unknownOperation } from "../status.ts";

export interface ErrorAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Record<string, string>;
}

/** Where the documents of the server are. */
const HELP = { "@type": "type.googleapis.com/google.rpc.Help", links: [{ description: "the API of this server", url: "/docs" }] };

/** Clients of a vendor get the error as that vendor's server sends it, without a pointer to the documents in its body. */
export function unknownPath(profile: VendorProfile): ErrorAnswer {
  const text = plain(Code.NOT_FOUND, "Not Found", profile.name === "" ? [HELP] : []);
  return { status: 404, text, headers: { link: '</docs>; rel="help"' } };
}

/** @param methods of the path; GET stands for HEAD, too */
export function wrongMethod(methods: readonly string[]): ErrorAnswer {
  const allow = methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
  return { status: 405, text: plain(Code.UNIMPLEMENTED, "Method Not Allowed"), headers: { allow } };
}

export function answerFromError(error: HoltError, context: ErrorContext): ErrorAnswer {
  const details = errorDetails(error, context).map(({ schema, message }) => ({
    "@type": typeUrlOf(schema, context),
    ...(toJson(schema, message) as object),
  }));
  const text = JSON.stringify({ code: error.code, message: error.message, details });
  return {
    status: httpStatusOf(error),
    text,
    headers: headersOf(error, context.profile),
  };
}

/** Answers requests that are refused before REST sees them, such as a URL that is too long, in the format of REST's errors. */
export function createRefusal(profile: VendorProfile): (response: HttpResponse, status: number, error: HoltError) => void {
  return (response, status, error) => {
    const { text, headers } = answerFromError(error, unknownOperation(profile));
    send(response, status, { type: "application/json", text }, headers);
  };
}

function headersOf({ code, details }: HoltError, profile: VendorProfile): Record<string, string> {
  const headers: Record<string, string> = {};
  // RFC 6750 §3: the scheme is followed by at least one parameter.
  if (code === Code.UNAUTHENTICATED) headers["www-authenticate"] = `Bearer realm="${profile.errorDomain}"`;
  if (details.retryAfterSeconds !== undefined) headers["retry-after"] = String(Math.ceil(details.retryAfterSeconds));
  return headers;
}

function plain(code: Code, message: string, details: readonly object[] = []): string {
  return JSON.stringify({ code, message, details });
}
