/** Reads the logins that docker, podman and skopeo share: auths, and the programs that manage credentials. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

export interface Login {
  readonly userName: string;
  /** A password, or an identity token if the user name is `<token>`. */
  readonly password: string;
}

interface DockerConfig {
  readonly auths?: Readonly<Record<string, { readonly auth?: string; readonly identitytoken?: string }>>;
  readonly credHelpers?: Readonly<Record<string, string>>;
  readonly credsStore?: string;
}

/** The keys of Docker Hub differ from its host. */
const KEYS_OF_HOST: Readonly<Record<string, readonly string[]>> = {
  "registry-1.docker.io": ["https://index.docker.io/v1/", "docker.io", "index.docker.io"],
};

/** @returns undefined if nobody has logged in there */
export async function findDockerLogin(host: string, signal: AbortSignal): Promise<Login | undefined> {
  const keys = KEYS_OF_HOST[host] ?? [host, `https://${host}`];
  for (const path of configFiles()) {
    const config = await readConfig(path);
    if (config === undefined) continue;
    for (const key of keys) {
      const helper = config.credHelpers?.[key] ?? (config.auths?.[key] && config.credsStore);
      const login = loginFrom(config.auths?.[key]) ?? (helper ? await askHelper(helper, key, signal) : undefined);
      if (login !== undefined) return login;
    }
  }
  return undefined;
}

function configFiles(): string[] {
  const { DOCKER_CONFIG, REGISTRY_AUTH_FILE, XDG_RUNTIME_DIR } = process.env;
  return [
    ...(REGISTRY_AUTH_FILE ? [REGISTRY_AUTH_FILE] : []),
    join(DOCKER_CONFIG || join(homedir(), ".docker"), "config.json"),
    ...(XDG_RUNTIME_DIR ? [join(XDG_RUNTIME_DIR, "containers/auth.json")] : []),
  ];
}

async function readConfig(path: string): Promise<DockerConfig | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as DockerConfig;
  } catch {
    return undefined;
  }
}

function loginFrom(entry: { readonly auth?: string; readonly identitytoken?: string } | undefined): Login | undefined {
  if (entry?.identitytoken) return { userName: "<token>", password: entry.identitytoken };
  if (!entry?.auth) return undefined;
  const decoded = Buffer.from(entry.auth, "base64").toString();
  const colon = decoded.indexOf(":");
  return colon < 0 ? undefined : { userName: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/** A helper that is missing or has no credential is like no login. */
async function askHelper(name: string, key: string, signal: AbortSignal): Promise<Login | undefined> {
  try {
    const child = spawn(`docker-credential-${name}`, ["get"], { stdio: ["pipe", "pipe", "ignore"], signal });
    const ended = once(child, "close");
    child.stdin.on("error", () => {}).end(key);
    const [answer] = await Promise.all([text(child.stdout), ended]);
    const { Username, Secret } = JSON.parse(answer) as { Username: string; Secret: string };
    return { userName: Username, password: Secret };
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
