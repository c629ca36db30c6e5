/** A form as a browser or a program sends it. */

import type { HttpRequest } from "../../http/http-exchange.ts";
import { readBody } from "../../http/read-body.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import { SignInRefusal } from "../refusal.ts";

/** @throws SignInRefusal, HoltError */
export async function readForm(request: HttpRequest, memory: RequestMemory): Promise<URLSearchParams> {
  const type = String(request.headers["content-type"] ?? "").split(";", 1)[0] ?? "";
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded") throw new SignInRefusal(415, "This address takes forms only.");
  const allowance = memory.allowStranger();
  try {
    return new URLSearchParams((await readBody(request, allowance)).toString("utf8"));
  } finally {
    allowance.release();
  }
}
