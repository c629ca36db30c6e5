/** Renews the credentials that can be renewed. Loaded about once an hour. */
import type { Token, TokenSource } from "@holt/client";
import { environmentToken, githubActionsToken } from "@holt/client/ci";
import { exchangedToken, refreshedToken } from "@holt/client/exchange";
import { fileToken, tokenOf } from "@holt/client/node";
import { exitStatus, Failure } from "../failure.ts";
import { ownerToken } from "../login/bootstrap.ts";
import type { AccessToken, Credential, WorkloadSource } from "./credentials.ts";

type Renewable = Exclude<Credential, { kind: "access" }>;

export async function renew(credential: Renewable, baseUrl: string): Promise<Renewable & { readonly access: AccessToken }> {
  switch (credential.kind) {
    case "refresh":
      return refresh(credential, baseUrl);
    case "bootstrap":
      return { ...credential, access: accessFrom(tokenOf(await ownerToken(credential.dataDir, baseUrl))) };
    case "workload":
      return {
        ...credential,
        access: accessFrom(
          await exchangedToken(sourceOf(credential.source, baseUrl, credential.identity), { baseUrl, identity: credential.identity })(),
        ),
      };
  }
}

async function refresh(credential: Extract<Credential, { kind: "refresh" }>, baseUrl: string) {
  let { refreshToken } = credential;
  const store = {
    load: async () => refreshToken,
    save: async (next: string) => {
      refreshToken = next;
    },
  };
  try {
    const access = accessFrom(await refreshedToken(store, { baseUrl })());
    return { ...credential, refreshToken, access };
  } catch (error) {
    if ((error as { code?: string }).code !== "UNAUTHENTICATED") throw error;
    throw new Failure("your session has ended", {
      advice: `sign in again: holt login ${baseUrl}`,
      status: exitStatus.signedOut,
      cause: error,
    });
  }
}

function sourceOf(source: WorkloadSource, baseUrl: string, identity: string): TokenSource {
  switch (source.from) {
    case "aws":
      return async (signal) => {
        const { awsProof } = await import("@holt/client/aws");
        const { AWS_ENDPOINT_URL_STS: stsUrl, AWS_REGION: region } = process.env;
        return awsProof({ audience: baseUrl, identity, ...(stsUrl && { stsUrl, ...(region && { region }) }) })(signal);
      };
    case "github":
      return githubActionsToken(baseUrl);
    case "key":
      return async (signal) => {
        const { proofSource } = await import("../workload/key-file.ts");
        return proofSource(source.path, baseUrl)(signal);
      };
    case "file":
      return fileToken(source.path);
    case "variable":
      return environmentToken(source.name);
  }
}

export function accessFrom({ token, expiry }: Token): AccessToken {
  return { token, ...(expiry && { expiry: expiry.toISOString() }) };
}
