/** Reads a form (application/x-www-form-urlencoded) from an anonymous caller. */
import type { HttpRequest, HttpResponse } from "./http-exchange.ts";
import { readBody } from "./read-body.ts";
import type { RequestMemory } from "./request-memory.ts";

/** @throws MessageTooLargeError; HoltError RESOURCE_EXHAUSTED or CANCELLED */
export async function readForm(request: HttpRequest, { answer }: HttpResponse, memory: RequestMemory): Promise<URLSearchParams> {
  const allowance = memory.allowAnonymous(answer);
  try {
    return new URLSearchParams((await readBody(request, allowance)).toString("utf8"));
  } finally {
    allowance.release();
  }
}
