/** Checks that the names of the settings resolve, and that the base URL is one that others can use. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Config } from "../../config.ts";
import { type Problem, problemsOf } from "./problem.ts";

export async function checkNames(config: Config): Promise<Problem[]> {
  const { baseUrl, registryUrl, smtpUrl, awsStsUrl, s3Endpoint, tracesEndpoint, userIssuers, pinnedIssuers } = config;
  const fetched = userIssuers.filter((issuer) => !pinnedIssuers.has(issuer));
  const named: readonly (readonly [string, string])[] = [
    ["HOLT_BASE_URL", baseUrl],
    ["HOLT_REGISTRY_URL", registryUrl],
    ["HOLT_SMTP_URL", smtpUrl],
    ["HOLT_S3_ENDPOINT", s3Endpoint],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", tracesEndpoint],
    ["HOLT_AWS_STS_URL", config.servicePrincipals.size > 0 ? awsStsUrl : ""],
    ...fetched.map((issuer) => ["an issuer of HOLT_USER_ISSUERS", issuer] as const),
  ];
  const hosts = new Map(named.flatMap(([setting, url]) => (url === "" ? [] : [[new URL(url).hostname, setting] as const])).reverse());
  const problems = await Promise.all([...hosts].map(([host, setting]) => checkName(host, setting)));
  return [...problems.flat(), ...checkBaseUrlForOthers(config)];
}

async function checkName(host: string, setting: string): Promise<Problem[]> {
  if (isIP(host.replace(/^\[|\]$/g, "")) !== 0) return [];
  const code = await lookup(host).then(
    () => "",
    (error: NodeJS.ErrnoException) => error.code ?? "unknown error",
  );
  return problemsOf("dns", [
    [code !== "", `${host} of ${setting} does not resolve (${code})`, "correct the setting, or the name server of this machine"],
  ]);
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

function checkBaseUrlForOthers({ baseUrl, listen }: Config): Problem[] {
  const { hostname, protocol } = new URL(baseUrl);
  const isLocal = LOOPBACK.test(hostname);
  return problemsOf("base URL", [
    [
      isLocal && !LOOPBACK.test(listen.host),
      `the server listens on ${listen.host}, but HOLT_BASE_URL is ${baseUrl}, which only this machine can reach`,
      "set HOLT_BASE_URL to the URL that clients use",
    ],
    [
      !isLocal && protocol === "http:",
      `${baseUrl} sends tokens in clear text`,
      "serve it over https, with HOLT_TLS_CERT or a proxy, and change HOLT_BASE_URL",
    ],
  ]);
}
