/** Emits events when images gain critical findings. */
import { appendPlainEvents, type EventNames, type PlainEvent } from "../../outbox/outbox.ts";
import { type Look, lookAtImages, readTags } from "./critical-looks.ts";
import { recordCritical } from "./critical-notices.ts";
import type { MatchContext } from "./match-context.ts";
import { type Batch, removeRequests } from "./requests.ts";

export const CRITICAL_EVENT = "registry.vulnerabilities.critical.v1";
/** Vulnerabilities that an event describes. */
const MAX_DESCRIBED = 100;

export async function alertImages(batch: Batch, context: MatchContext, names: EventNames): Promise<void> {
  const { orgUid, requests } = batch;
  const digests = requests.map(({ name }) => name);
  const looks = await lookAtImages(context.store.reader, orgUid, digests);
  if (looks === undefined) {
    const half = Math.ceil(requests.length / 2);
    await alertImages({ ...batch, requests: requests.slice(0, half) }, context, names);
    return alertImages({ ...batch, requests: requests.slice(half) }, context, names);
  }
  await context.write(async (db) => {
    const removed = await removeRequests(db, batch);
    const added = await recordCritical(
      db,
      looks.filter(({ digest }) => removed.has(digest)),
    );
    if (batch.kind !== "alert" || added.size === 0) return;
    const tags = await readTags(db, [...added.keys()]);
    const events = [...added].map(([look, ids]) => eventOf({ look, added: ids, tags: tags.get(look) ?? [] }, names, context.now()));
    await appendPlainEvents(db, events, names);
  });
}

interface Gain {
  readonly look: Look;
  /** The vulnerabilities that the image gained. */
  readonly added: readonly string[];
  readonly tags: readonly string[];
}

function eventOf({ look, added, tags }: Gain, names: EventNames, now: Date): PlainEvent {
  const { repoUid, repository, group, imageDigest, critical } = look;
  const vulnerabilities = added.slice(0, MAX_DESCRIBED).map((id) => {
    const findings = critical.get(id) ?? [];
    return {
      id,
      packages: [...new Set(findings.map(({ type, name, version }) => `${type}:${name}@${version}`))],
      fixed_versions: [...new Set(findings.flatMap(({ detail }) => detail.fixed))],
    };
  });
  const body = { repository, repo_id: repoUid, digest: imageDigest, tags, vulnerability_count: added.length, vulnerabilities };
  const source = `${names.baseUrl}/holt/v1/vulnerabilities`;
  return { type: CRITICAL_EVENT, source, subject: repoUid, group, extensions: {}, actor: undefined, body, now };
}
