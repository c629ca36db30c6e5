/** Finds a subscription, which has no name, by its uid or by its sink. */
import type { Invocation } from "../command/invocation.ts";
import { exitStatus, Failure } from "../failure.ts";
import { isUid } from "../names/resolve.ts";
import { readAll } from "../operations/call-list.ts";

interface Subscription {
  readonly uid: string;
  readonly sink: string;
}

export const SUBSCRIPTION_HELP = "uid or sink of the subscription";

/** @throws Failure if no subscription or several have the sink */
export async function subscriptionUid(text: string, { session, signal }: Pick<Invocation, "session" | "signal">): Promise<string> {
  if (isUid(text)) return text;
  const request = { method: "GET", path: "/events/v2/subscriptions" };
  const { rows } = await readAll(session().rest, request, "subscriptions", signal);
  const subscriptions = rows as unknown as Subscription[];
  const exact = subscriptions.filter(({ sink }) => sink === text);
  const fitting = exact.length > 0 ? exact : subscriptions.filter(({ sink }) => normalUrl(sink) === normalUrl(text));
  const [only, ...others] = fitting;
  if (only === undefined) {
    const advice = "see the subscriptions with: holt events subscriptions list";
    throw new Failure(`there is no subscription with the sink "${text}" that you can see`, { status: exitStatus.notFound, advice });
  }
  if (others.length === 0) return only.uid;
  const advice = `give the uid of one of them:${fitting.map(({ uid }) => `\n      ${uid}`).join("")}`;
  throw new Failure(`${fitting.length} subscriptions have the sink "${text}"`, { status: exitStatus.usage, advice });
}

/** `https://host` and `https://host/` are one address. */
function normalUrl(text: string): string {
  return URL.canParse(text) ? new URL(text).href : text;
}
