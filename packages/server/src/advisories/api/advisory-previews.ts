/** Renders an advisory for each feed as it would be published after the approval of events. */
import { create } from "@bufbuild/protobuf";
import { type AdvisoryPreview_Entry, AdvisoryPreviewSchema, AdvisoryPreviewsService } from "@holt/api/gen/holt/v1/advisory_previews_pb.ts";
import { type Handlers, implement, read } from "../../api/call/implement.ts";
import { getBody } from "../../api/resource/get.ts";
import type { ReadDb } from "../../db/store.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { type PublishedAdvisory, publishedAdvisory } from "../export/published-advisory.ts";
import type { Rendering } from "../export/rendering.ts";
import { type FeedFormat, feedFormats } from "../feeds/feed-format.ts";
import { loadRendering } from "../feeds/feed-maker.ts";
import { findSiblingsByKey, loadAdvisories, loadVulnerabilities } from "../feeds/feed-source.ts";
import { advisories } from "../resource.ts";

/** As many as an advisory has. */
const MAX_EVENTS = 500;
const APPROVED = "REVIEW_STATE_APPROVED";

export function advisoryPreviewsService({ baseUrl }: { readonly baseUrl: string }) {
  const handlers: Handlers<typeof AdvisoryPreviewsService> = {
    previewAdvisory: read(async ({ uid, eventUids }, { db }) => {
      if (eventUids.length > MAX_EVENTS) throw invalidArgument("event_uids", `name at most ${MAX_EVENTS} events`);
      const { text } = await getBody(advisories, uid, db);
      const group = parentOf(uid);
      const vulnerabilities = await loadVulnerabilities(db, [...aliasesOf(text)]);
      const rendering = { ...(await loadRendering({ db, baseUrl }, group)), vulnerabilities };
      const subject = { uid, current: publishedAdvisory(text), approved: publishedAdvisory(withApproved(text, new Set(eventUids))) };
      const entries = [];
      for (const format of feedFormats) entries.push(await previewOf(format, text, subject, { db, rendering }));
      return create(AdvisoryPreviewSchema, { entries });
    }),
  };
  return implement(AdvisoryPreviewsService, handlers, "Advisory");
}

interface StoredAdvisory {
  readonly aliases?: readonly string[];
  readonly deleteTime?: string;
  readonly events?: readonly { readonly uid: string; readonly reviewState: string }[];
}

function aliasesOf(body: string): readonly string[] {
  return (JSON.parse(body) as StoredAdvisory).aliases ?? [];
}

function withApproved(body: string, uids: ReadonlySet<string>): string {
  const advisory = JSON.parse(body) as StoredAdvisory;
  const events = (advisory.events ?? []).map((event) => (uids.has(event.uid) ? { ...event, reviewState: APPROVED } : event));
  return JSON.stringify({ ...advisory, events });
}

interface Subject {
  readonly uid: string;
  /** Undefined without an approved event. */
  readonly current: PublishedAdvisory | undefined;
  readonly approved: PublishedAdvisory | undefined;
}

async function previewOf(
  format: FeedFormat,
  body: string,
  { uid, current, approved }: Subject,
  { db, rendering }: { readonly db: ReadDb; readonly rendering: Rendering },
): Promise<Pick<AdvisoryPreview_Entry, "format" | "current" | "approved">> {
  const others = await loadAdvisories(db, await siblingsOf(format, uid, body, { db, group: rendering.group }));
  const render = (advisory: PublishedAdvisory | undefined) => {
    const set = [...others, ...(advisory === undefined ? [] : [advisory])].sort((a, b) => (a.uid < b.uid ? -1 : 1));
    const rendered = set.length === 0 ? undefined : format.render(set, rendering);
    return rendered === undefined ? "" : JSON.stringify(rendered);
  };
  return { format: format.name, current: render(current), approved: render(approved) };
}

/** Uids of the other advisories that the format renders into the same entry. */
async function siblingsOf(
  { sibling }: FeedFormat,
  uid: string,
  body: string,
  { db, group }: { readonly db: ReadDb; readonly group: string },
): Promise<readonly string[]> {
  if (sibling === "uid") return [];
  const { advisoryId, artifactName } = JSON.parse(body) as { readonly advisoryId: string; readonly artifactName: string };
  const [set = []] = await findSiblingsByKey(db, group, sibling, [sibling === "advisory_id" ? advisoryId : artifactName]);
  return set.filter((other) => other !== uid);
}
