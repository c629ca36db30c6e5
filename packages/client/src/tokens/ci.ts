/** Tokens that a platform gives to the programs that it runs, as subjects of an exchange. */
import { type TokenSource, tokenOf } from "./token-source.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The OIDC token of a GitHub Actions job, which needs `permissions: id-token: write`.
 * @param audience URL of the server
 */
export function githubActionsToken(audience: string, environment: Environment = environmentOfProcess()): TokenSource {
  return async (signal) => {
    const url = new URL(required(environment, "ACTIONS_ID_TOKEN_REQUEST_URL", "does the job have the permission id-token: write?"));
    url.searchParams.set("audience", audience);
    const headers = { authorization: `Bearer ${required(environment, "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "")}` };
    const answer = await fetch(url, { headers, signal: signal ?? null });
    if (!answer.ok) throw new Error(`GitHub answered ${answer.status} to the request for an OIDC token`);
    return tokenOf(((await answer.json()) as { value: string }).value);
  };
}

/**
 * A token in an environment variable. GitLab CI puts tokens there that a job asks for under `id_tokens`.
 * @param name of the variable
 */
export function environmentToken(name: string, environment: Environment = environmentOfProcess()): TokenSource {
  return async () => tokenOf(required(environment, name, ""));
}

function required(environment: Environment, name: string, hint: string): string {
  const value = environment[name];
  if (value === undefined || value === "") throw new Error(`the environment has no ${name}${hint && `; ${hint}`}`);
  return value;
}

/** Browsers have none. */
function environmentOfProcess(): Environment {
  return (globalThis as { process?: { env: Environment } }).process?.env ?? {};
}
