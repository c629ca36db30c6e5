/** holt images copy: copies an image with all its platforms from one registry to another, without keeping it in between. */
import type { Invocation } from "../command/invocation.ts";
import { timeoutFrom } from "../command/timeout.ts";
import type { Verb } from "../command/verb.ts";
import { copyImage } from "../copy/copy-image.ts";
import { createRegistry } from "../copy/registry.ts";
import { parseRegistryReference, type RegistryReference } from "../copy/registry-reference.ts";
import type { Repository } from "../copy/repository.ts";
import { usageFailure } from "../failure.ts";
import { startProgress } from "../terminal/progress.ts";

const HELP = "REPO:TAG or REPO@DIGEST of the context, or of another registry: HOST/REPO:TAG";
const COLUMNS = ["digest", "source", "target", "manifests", "uploaded", "mounted", "present", "bytes", "referrers"];

export const verb: Verb = {
  path: "images copy",
  summary: "Copy an image with all its platforms from one registry to another.",
  description:
    "Layers are streamed and kept nowhere in between. Layers that the target has are skipped, and within one registry they are taken " +
    "over from the source. The tag is set last. A name whose first part has a dot or a port is in the registry of that host: holt " +
    "logs in there with its own context, or with the login of docker. With --referrers, signatures, SBOMs and attestations of the " +
    "image and of its platforms are copied, too. After an interruption, the same command copies what is missing.",
  examples: [
    "holt images copy docker.io/library/alpine:3.22 my-org/team-a/alpine:3.22",
    "holt images copy my-org/team-a/app:1.0 registry.example.com/shop/app --referrers",
  ],
  arguments: [
    { name: "source", kind: "repo", help: HELP },
    { name: "target", kind: "repo", help: `${HELP}; the tag of the source by default` },
  ],
  options: [{ name: "referrers", help: "also copy signatures, SBOMs and attestations" }],
  async run(invocation) {
    const { argument, isSet, output, signal } = invocation;
    const source = await parseRegistryReference(argument("source"), invocation);
    const target = await parseRegistryReference(argument("target"), invocation);
    const reference = source.reference ?? "latest";
    const tag = tagOf(target, reference);
    const progress = startProgress({ title: "Copying", unit: "bytes" });
    const [from, to] = repositoriesOf(source, target, invocation);
    try {
      const request = { source: from, target: to, reference, tag, withReferrers: isSet("referrers"), onBytes: progress.add };
      const copied = await copyImage(request);
      progress.end();
      const shown = `${target.host}/${target.repository}${tag === undefined ? `@${copied.digest}` : `:${tag}`}`;
      const row = { ...copied, source: `${source.host}/${source.repository}@${copied.digest}`, target: shown };
      await output.row(row, { columns: COLUMNS, name: () => copied.digest });
    } catch (error) {
      progress.end();
      signal.throwIfAborted();
      throw error;
    }
  },
};

/** @returns undefined if only a digest names the copy */
function tagOf({ reference, shown }: RegistryReference, ofSource: string): string | undefined {
  if (reference === undefined) return ofSource.includes(":") ? undefined : ofSource;
  if (!reference.includes(":")) return reference;
  if (reference !== ofSource) throw usageFailure(`the copy cannot have the digest of ${shown}`, "name a tag, or the digest of the source");
  return undefined;
}

/** One token covers both repositories of a registry, so that layers can be taken over. */
function repositoriesOf(
  source: RegistryReference,
  target: RegistryReference,
  { signal, option, contextName }: Invocation,
): [Repository, Repository] {
  const timeoutMs = timeoutFrom(option("timeout"));
  const pull = `repository:${source.repository}:pull`;
  const push = `repository:${target.repository}:pull,push`;
  const isSame = source.origin === target.origin;
  const scopes = source.repository === target.repository ? [push] : [pull, push];
  const options = { contextName, signal, timeoutMs };
  const to = createRegistry({ origin: target.origin, host: target.host, scopes: isSame ? scopes : [push], ...options });
  const from = isSame ? to : createRegistry({ origin: source.origin, host: source.host, scopes: [pull], ...options });
  return [
    { registry: from, name: source.repository },
    { registry: to, name: target.repository },
  ];
}
