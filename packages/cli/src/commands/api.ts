/** holt api: any request of the REST API. */
import type { HoltError } from "@holt/client";
import type { RestRequest } from "@holt/client/rest";
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { exitStatus, Failure, usageFailure } from "../failure.ts";
import { readText } from "../operations/from-file.ts";

const METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD"];

export const verb: Verb = {
  path: "api",
  summary: "Send any request to the REST API, and print the answer.",
  description:
    "The answer is printed as JSON, or as text if it is text. --paginate follows nextPageToken and joins the pages. --jq prints the results of a jq expression, " +
    "strings unquoted.",
  examples: [
    "holt api GET /iam/v2/groups --paginate --jq '.groups[].name'",
    'holt api POST /iam/v2/groups/$ORG --body \'{"name": "team-a"}\'',
    "holt api GET /iam/v2/groups -f uidp.in_root=true -f page_size=5",
  ],
  arguments: [
    { name: "method", help: METHODS.join(", "), values: METHODS },
    { name: "path", help: "a path of the API, with or without a query" },
  ],
  options: [
    { name: "field", short: "f", value: "NAME=VALUE", help: "a parameter of the query", repeated: true },
    { name: "body", value: "JSON", help: "the body; @FILE reads a file, @- standard input" },
    { name: "form", value: "NAME=VALUE", help: "a field of a form, which becomes the body", repeated: true },
    { name: "paginate", help: "read all pages of a list" },
    { name: "jq", value: "EXPRESSION", help: "print the results of a jq expression" },
  ],
  run: runApi,
};

async function runApi(invocation: Invocation): Promise<void> {
  const { option, isSet, output } = invocation;
  const request = await requestFrom(invocation);
  const answered = isSet("paginate") ? readAllPages(request, invocation) : answerTo(request, invocation);
  const answer = await answered.catch((error: unknown) => explainFailure(error, request));
  const expression = option("jq");
  if (expression !== undefined) {
    const { evaluateJq } = await import("../output/jq.ts");
    const text = await evaluateJq(answer ?? null, expression);
    process.stdout.write(text === "" ? "" : `${text}\n`);
  } else if (answer !== undefined) await output.value(answer);
}

/** The person typed the path and the fields: the server is not older than this program, and --help does not describe them. */
async function explainFailure(error: unknown, { method, path }: RestRequest): Promise<never> {
  const { code, message } = error as { code?: string; message?: string };
  if (code === "INVALID_ARGUMENT") {
    const { failureOfCall } = await import("../report-failure.ts");
    throw failureOfCall(error as HoltError, "the page /docs of the server describes the fields of all requests");
  }
  if (code !== "NOT_FOUND" || message !== "Not Found") throw error;
  throw new Failure(`Not Found: the server has no operation ${method} ${path}`, {
    advice: "check the path: the page /docs of the server lists all operations",
    status: exitStatus.notFound,
    cause: error,
  });
}

async function requestFrom({ argument, option, list, signal }: Invocation): Promise<RestRequest> {
  const method = argument("method").toUpperCase();
  if (!METHODS.includes(method)) throw usageFailure(`"${method}" is not a method of HTTP`, `use one of ${METHODS.join(", ")}`);
  const path = argument("path");
  // Otherwise the token could be sent elsewhere: to http://server@elsewhere for the path "@elsewhere".
  if (!path.startsWith("/"))
    throw usageFailure(`the path "${path}" does not begin with a slash`, "for example: holt api GET /iam/v2/groups");
  const query: Record<string, string[]> = {};
  for (const [name, value] of pairsOf("field", list("field"))) query[name] = [...(query[name] ?? []), value];
  const form = pairsOf("form", list("form"));
  const text = option("body");
  if (form.length > 0 && text !== undefined) throw usageFailure("--form and --body exclude each other");
  const request = { method, path, query, signal };
  if (form.length > 0) return { ...request, body: new URLSearchParams(form) };
  return text === undefined ? request : { ...request, body: text.startsWith("@") ? await readText(text.slice(1)) : text };
}

function pairsOf(option: string, fields: readonly string[]): [string, string][] {
  return fields.map((field) => {
    const at = field.indexOf("=");
    if (at <= 0) throw usageFailure(`--${option}: "${field}" must be NAME=VALUE`);
    return [field.slice(0, at), field.slice(at + 1)];
  });
}

/** Some paths, such as those of libraries, answer with text for their own clients. */
async function answerTo(request: RestRequest, { session }: Invocation): Promise<unknown> {
  const response = await session().rest.fetch(request);
  const text = await response.text();
  if (text === "") return undefined;
  return /\bjson\b/.test(response.headers.get("content-type") ?? "") ? JSON.parse(text) : text.trimEnd();
}

/** The lists of all pages are joined; other fields are those of the first page. */
async function readAllPages(request: RestRequest, { session }: Invocation): Promise<unknown> {
  const { rest } = session();
  const first = (await rest.call(request)) as Record<string, unknown>;
  const { nextPageToken, ...joined } = first;
  let token = nextPageToken;
  while (typeof token === "string" && token !== "") {
    const page = (await rest.call({ ...request, query: { ...request.query, page_token: token } })) as Record<string, unknown>;
    appendLists(joined, page);
    token = page.nextPageToken;
  }
  return joined;
}

function appendLists(joined: Record<string, unknown>, page: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(page)) {
    if (!Array.isArray(value)) continue;
    joined[name] ??= [];
    (joined[name] as unknown[]).push(...value);
  }
}
