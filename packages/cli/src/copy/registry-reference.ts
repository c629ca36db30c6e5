/** Parses names of images in any registry: `registry.example.com/team/app:1.0`, or `my-org/team-a/app:1.0` of the context. */
import type { Invocation } from "../command/invocation.ts";
import { findContextOfHost } from "../contexts/contexts.ts";
import { usageFailure } from "../failure.ts";
import { parseImageReference } from "../images/image-reference.ts";
import { ancestorsOf, isUid, namesOfGroups } from "../names/resolve.ts";

export interface RegistryReference {
  /** Origin of the registry, such as https://registry.example.com. */
  readonly origin: string;
  readonly host: string;
  /** Name of the repository in the registry. */
  readonly repository: string;
  /** Tag or digest; undefined if the caller gave neither. */
  readonly reference: string | undefined;
  /** As people write it. */
  readonly shown: string;
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)(:\d+)?$/;
const DOCKER_HUB = "docker.io";

export async function parseRegistryReference(text: string, invocation: Invocation): Promise<RegistryReference> {
  const { repo, tag, digest } = parseImageReference(text);
  const reference = digest ?? tag;
  const [first = "", ...rest] = repo.split("/");
  if (!/[.:]/.test(first) && first !== "localhost") {
    const { url } = invocation.session().context;
    return { ...placeOf(url), repository: await pathOf(repo, invocation), reference, shown: text };
  }
  if (rest.length === 0)
    throw usageFailure(`"${text}" names a registry and no repository in it`, "for example: registry.example.com/app:1.0");
  if (first === DOCKER_HUB) {
    const repository = rest.length === 1 ? `library/${rest[0]}` : rest.join("/");
    return { ...placeOf("https://registry-1.docker.io"), repository, reference, shown: text };
  }
  const known = findContextOfHost(first, invocation.contextName)?.url;
  const place = placeOf(known ?? `${LOOPBACK.test(first) ? "http" : "https"}://${first}`);
  return { ...place, repository: rest.join("/"), reference, shown: text };
}

function placeOf(url: string): Pick<RegistryReference, "origin" | "host"> {
  const { origin, host } = new URL(url);
  return { origin, host };
}

/** The registry knows names, not uids. A single word is the name of a repository that exists. */
async function pathOf(repo: string, { uid, session, signal }: Invocation): Promise<string> {
  if (!isUid(repo) && repo.includes("/")) return repo;
  const found = await uid("repo", repo);
  const { rest } = session();
  const groups = ancestorsOf(found);
  const names = await namesOfGroups(rest, new Set(groups), signal);
  const query = { "uidp.ids": [found] };
  const { repos = [] } = (await rest.call({ method: "GET", path: "/registry/v2/repos", query, signal })) as { repos?: { name: string }[] };
  return [...groups.map((group) => names.get(group) ?? group.split("/").at(-1)), repos[0]?.name ?? repo].join("/");
}
