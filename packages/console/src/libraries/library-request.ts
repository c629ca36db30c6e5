/** Requests of the package protocols, which are not operations of the contract: uploads, yanks and deletions. */
import { Code, ConnectError } from "@connectrpc/connect";
import { withToken } from "../session/with-token.ts";

export interface LibraryCall {
  readonly method: "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: FormData | File | URLSearchParams;
  /** Part of the body that was sent, from 0 to 1. */
  readonly onProgress?: (part: number) => void;
  readonly signal?: AbortSignal;
}

const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.AlreadyExists,
  413: Code.InvalidArgument,
  429: Code.ResourceExhausted,
  503: Code.Unavailable,
};

/** @throws ConnectError */
export function sendLibraryCall(call: LibraryCall): Promise<void> {
  return withToken((token) => send(call, token));
}

/** `fetch` does not report the progress of uploads. */
function send({ method, path, body, onProgress, signal }: LibraryCall, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new ConnectError("cancelled", Code.Canceled));
    const request = new XMLHttpRequest();
    request.open(method, path);
    request.setRequestHeader("authorization", `Bearer ${token}`);
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(total === 0 ? 0 : loaded / total);
    request.onload = () => (request.status < 300 ? resolve() : reject(errorFrom(request)));
    request.onerror = () => reject(new ConnectError("the connection to the server was lost", Code.Unavailable));
    request.onabort = () => reject(new ConnectError("cancelled", Code.Canceled));
    signal?.addEventListener("abort", () => request.abort());
    request.send(body ?? null);
  });
}

function errorFrom(request: XMLHttpRequest): ConnectError {
  const message = request.responseText.trim() || `the server answered with status ${request.status}`;
  const requestId = request.getResponseHeader("x-request-id");
  return new ConnectError(message, CODES[request.status] ?? Code.Unknown, requestId === null ? undefined : { "x-request-id": requestId });
}
