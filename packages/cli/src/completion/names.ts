/** Names for completion. The server gets little time: a shell that waits is worse than one that completes nothing. */
import { createRest } from "@holt/client/rest";
import { tokenOfContext } from "../contexts/access-token.ts";
import { readContexts, selectContext } from "../contexts/contexts.ts";
import { kinds, type ListedKind, listedKinds, type ResourceKind } from "../names/kinds.ts";
import { parseDuration } from "../output/human.ts";

/** Together with the start of Node, a Tab takes less than 300 ms. HOLT_COMPLETION_TIMEOUT is for servers that are far away. */
const DEFAULT_WAIT_SECONDS = 0.2;
const MAX_NAMES = "200";

export function namesOfContexts(): string[] {
  return Object.keys(readContexts().contexts);
}

export async function namesOfResources(kind: ResourceKind, contextName: string | undefined): Promise<{ text: string; help: string }[]> {
  const context = selectContext(contextName);
  const rest = createRest({
    baseUrl: context.url,
    token: tokenOfContext(context),
    timeoutMs: waitSeconds() * 1000,
    retry: { attempts: 1 },
  });
  const read = async (listed: ListedKind) => {
    const { path, items, label } = kinds[listed];
    const answer = (await rest.call({ method: "GET", path, query: { page_size: MAX_NAMES } })) as Record<string, { name: string }[]>;
    return (answer[items] ?? []).map(({ name }) => ({ text: name, help: label as string }));
  };
  const found = (await Promise.all(listedKinds(kind).map(read))).flat();
  return [...new Map(found.map((candidate) => [candidate.text, candidate])).values()];
}

/** Completion never fails, so a value that cannot be read counts as none. */
function waitSeconds(): number {
  return parseDuration(process.env.HOLT_COMPLETION_TIMEOUT ?? "") || DEFAULT_WAIT_SECONDS;
}
