/** holt test-token: which identities a token of another issuer signs in as. */
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import { parseDocument, readText } from "../operations/from-file.ts";
import type { Row } from "../output/output.ts";

interface Answer {
  readonly tokenError?: string;
  readonly matches?: readonly Row[];
  readonly nearMisses?: readonly Row[];
  readonly incomplete?: boolean;
}

export const verb: Verb = {
  path: "test-token",
  summary: "Tell which identities a token of another issuer would sign in as, and why others would not.",
  description: "The token is read from a file or from standard input. The server issues nothing, and neither stores nor logs it.",
  examples: ["holt test-token my-org < token.jwt", 'holt test-token my-org --claims \'{"iss": "https://ci.test", "sub": "build"}\''],
  arguments: [{ name: "group", kind: "group", optional: true, help: "only identities in this group and below it" }],
  options: [
    { name: "token-file", value: "FILE", help: "the token; standard input by default" },
    { name: "claims", value: "JSON", help: "the claims of a token that you do not have; no signature is checked" },
  ],
  async run({ argument, option, groupUid, session, output, signal }) {
    const group = await groupUid(argument("group") || undefined);
    const claims = option("claims");
    const body =
      claims === undefined
        ? { token: (await readText(option("token-file") ?? "-")).trim() }
        : { claims: await parseDocument(claims, "--claims") };
    if (body.token === "") throw usageFailure("there is no token on standard input");
    const answer = (await session().rest.call({ method: "POST", path: `/holt/v1/access/${group}:testToken`, body, signal })) as Answer;
    const rows = [
      ...(answer.matches ?? []).map((row) => ({ match: true, ...row })),
      ...(answer.nearMisses ?? []).map((row) => ({ match: false, ...row })),
    ];
    if (answer.tokenError) process.stderr.write(`The token is not valid: ${answer.tokenError}\n`);
    else if (rows.length === 0 && !answer.incomplete) process.stderr.write("No identity there accepts tokens of this issuer.\n");
    await output.rows(rows, { columns: ["match", "name", "identityUid", "claim", "explanation"] });
  },
};
