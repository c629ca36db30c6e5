/** Sends a request with the token of the session. A refused token is renewed once. */
import { Code, ConnectError } from "@connectrpc/connect";
import { currentToken, forgetToken } from "./session.ts";

export async function withToken<Answer>(send: (token: string) => Promise<Answer>): Promise<Answer> {
  async function attempt(): Promise<Answer> {
    const token = await currentToken();
    try {
      return await send(token);
    } catch (error) {
      if (isRefused(error)) forgetToken(token);
      throw error;
    }
  }
  return attempt().catch((error: unknown) => {
    if (!isRefused(error)) throw error;
    return attempt();
  });
}

function isRefused(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
}
