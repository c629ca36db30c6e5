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
  const fitting = (rows as unknown as Subscription[]).filter(({ sink }) => sink === text);
  const [only, ...others] = fitting;
  if (only === undefined) {
    const advice = "see the subscriptions with: holt events subscriptions list";
    throw new Failure(`there is no subscription with the sink "${text}" that you can see`, { status: exitStatus.notFound, advice });
  }
  if (others.length === 0) return only.uid;
  const advice = `give the uid of one of them:${fitting.map(({ uid }) => `\n      ${uid}`).join("")}`;
  throw new Failure(`${fitting.length} subscriptions have the sink "${text}"`, { status: exitStatus.usage, advice });
}
