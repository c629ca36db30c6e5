/** Each failed attempt is recorded with its reason and retried, and does not affect other sinks. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { generate } from "selfsigned";
import { type DeliveryRow, type DeliveryWorld, startDeliveryWorld } from "../harness/events/delivery-world.ts";
import { freePort } from "../harness/free-port.ts";
import { storeNames } from "../harness/harness.ts";
import { verifyDelivery } from "../harness/verify-delivery.ts";
import { until } from "../harness/wait.ts";
import { accept, answer, type Behaviour, endless, garbage, halfAnswer, reset, silence } from "../harness/webhook-receiver.ts";

const HOUR_MS = 3_600_000;
const SECRET = "what only the sink knows";
const bigHeader = raw(`HTTP/1.1 200 OK\r\nx: ${SECRET.repeat(4000)}`);
const shortBody: Behaviour = (response) => void response.socket?.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc");

/** Writes bytes without node:http; the connection stays open. */
function raw(text: string): Behaviour {
  return (response) => void response.socket?.write(text);
}

const promises: Behaviour = (response, received) => {
  if (response.socket?.destroyed !== false) return;
  response.socket.write("HTTP/1.1 103 Early Hints\r\n\r\n");
  setTimeout(() => promises(response, received), 20).unref();
};

const wasTried = ({ attempts }: DeliveryRow): boolean => attempts >= 1;
const isDelivered = ({ state }: DeliveryRow): boolean => state === "delivered";

/** Behaviours of sinks, and what their deliveries then record. */
const faults: readonly { what: string; behaviour: Behaviour; status: number; error: RegExp }[] = [
  { what: "answers with a server error", behaviour: answer(500, { "x-secret": SECRET }, SECRET), status: 500, error: /500/ },
  { what: "answers with a refusal", behaviour: answer(403, {}, SECRET), status: 403, error: /403/ },
  { what: "answers that nothing was modified", behaviour: answer(304), status: 304, error: /304/ },
  { what: "redirects", behaviour: answer(307, { location: "/elsewhere" }), status: 307, error: /redirect/ },
  {
    what: "always redirects to another host",
    behaviour: answer(308, { location: "http://127.0.0.2:1/" }),
    status: 308,
    error: /redirect/,
  },
  { what: "redirects to nowhere", behaviour: answer(302), status: 302, error: /redirect/ },
  { what: "answers an error that never ends", behaviour: endless(503), status: 503, error: /503/ },
  { what: "trickles an error that never ends", behaviour: endless(502, "trickle"), status: 502, error: /502/ },
  { what: "resets the connection", behaviour: reset, status: 0, error: /closed/ },
  { what: "answers something other than HTTP", behaviour: garbage, status: 0, error: /HTTP/ },
  { what: "ends in the middle of its answer", behaviour: halfAnswer, status: 0, error: /closed/ },
  { what: "answers with headers that are too large", behaviour: bigHeader, status: 0, error: /headers/ },
  {
    what: "answers with a status line that never ends",
    behaviour: raw(`HTTP/1.1 200 ${"x".repeat(2 * 1024 * 1024)}`),
    status: 0,
    error: /answered more than \d+ bytes/,
  },
  {
    what: "answers with a wrong Content-Length",
    behaviour: raw("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd"),
    status: 0,
    error: /^the Content-Length of the sink's answer is wrong$/,
  },
  {
    what: "answers with the status 000",
    behaviour: raw("HTTP/1.1 000 OK\r\ncontent-length: 0\r\n\r\n"),
    status: 0,
    error: /^the sink's answer is not HTTP$/,
  },
  {
    what: "switches protocols",
    behaviour: raw("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    status: 0,
    error: /./,
  },
  { what: "sends early hints for ever", behaviour: promises, status: 0, error: /./ },
  { what: "never answers", behaviour: silence, status: 0, error: /time/ },
];

for (const store of storeNames) {
  describe(`failing sinks on ${store}`, () => {
    let world: DeliveryWorld;
    before(async () => {
      world = await startDeliveryWorld({ store });
    });
    after(() => world[Symbol.asyncDispose]());

    /** Creates a subscription and waits for the delivery of its first event. */
    async function subscribe(path: string): Promise<{ group: string; uid: string }> {
      const group = await world.group(world.orgUid);
      const uid = await world.subscribe(group, path);
      await world.delivery(uid, uid, isDelivered);
      return { group, uid };
    }

    for (const [i, { what, behaviour, status, error }] of faults.entries()) {
      it(`a sink that ${what} is recorded with the error and retried until it accepts the event`, async () => {
        const path = `/fault-${i}`;
        const { group, uid } = await subscribe(path);
        world.sink.behave(behaviour, path);
        const made = await world.group(group);
        const failed = await world.delivery(uid, made, wasTried);
        assert.equal(failed.state, "pending");
        assert.equal(failed.status_code, status, failed.error);
        assert.match(failed.error, error);
        assert.ok(!failed.error.includes(SECRET));
        world.sink.behave(accept, path);
        const delivered = await world.delivery(uid, made, isDelivered);
        assert.deepEqual([delivered.status_code, delivered.error, delivered.next_attempt_time], [200, "", null]);
        const [first, ...again] = world.sink.at(path).filter(({ headers }) => headers["ce-subject"] === made);
        assert.ok(again.length >= 1);
        assert.equal(delivered.attempts, 1 + again.length);
        for (const attempt of [first!, ...again]) {
          const event = await verifyDelivery(attempt, { issuer: world.baseUrl, group });
          assert.deepEqual([event.id, event.subject], [delivered.event_id, made]);
          assert.deepEqual(attempt.body, first?.body);
        }
        assert.deepEqual(world.sink.at("/elsewhere"), []);
      });
    }

    for (const [what, behaviour] of Object.entries({
      "never ends": endless(202),
      "never ends and trickles": endless(200, "trickle"),
      "breaks off": shortBody,
      "is not JSON": answer(299, {}, "\xff\0<"),
    })) {
      it(`a success whose body ${what} counts as delivered`, async () => {
        const path = `/taken-${what.replaceAll(" ", "-")}`;
        const { group, uid } = await subscribe(path);
        world.sink.behave(behaviour, path);
        const { state, attempts, error } = await world.delivery(uid, await world.group(group), wasTried);
        assert.deepEqual([state, attempts, error], ["delivered", 1, ""]);
      });
    }

    it("a sink that is unreachable or has an untrusted certificate is recorded with the error", async () => {
      await using tls = await startTlsSink();
      const group = await world.group(world.orgUid);
      const dead = await world.subscribe(group, `http://127.0.0.1:${await freePort()}/`);
      const untrusted = await world.subscribe(group, `https://127.0.0.1:${tls.port}/`);
      const [refused, doubted] = await Promise.all([dead, untrusted].map((uid) => world.delivery(uid, uid, wasTried)));
      assert.deepEqual([refused?.state, refused?.status_code], ["pending", 0]);
      assert.match(refused?.error ?? "", /refused/);
      assert.match(doubted?.error ?? "", /certificate|TLS/);
      assert.equal(tls.requests, 0);
      for (const uid of [dead, untrusted]) await world.call("DELETE", `/events/v2/subscriptions/${uid}`);
    });

    it("a Retry-After of seconds or a date delays the retry by up to a day", async () => {
      const { group, uid } = await subscribe("/pause");
      const pauses: [() => string, number][] = [
        [() => "3600", HOUR_MS],
        [() => new Date(Date.now() + 2 * HOUR_MS).toUTCString(), 2 * HOUR_MS],
        [() => "999999999", 24 * HOUR_MS],
      ];
      for (const [header, ms] of pauses) {
        const retryAfter = header();
        world.sink.behaveOnce("/pause", answer(429, { "retry-after": retryAfter }));
        // The server's clock is between these two.
        const before = Date.now();
        const made = await world.group(group);
        const { state, next_attempt_time } = await world.delivery(uid, made, wasTried);
        const after = Date.now();
        assert.equal(state, "pending");
        const next = Date.parse(next_attempt_time ?? "");
        // A date has whole seconds.
        assert.ok(next >= before + ms - 2000 && next <= after + ms + 2000, `${retryAfter}: ${next_attempt_time}`);
        const { hold_time } = (await world.queue(uid)) ?? {};
        assert.ok(Date.parse(hold_time ?? "") >= next - 1000);
        await world.call("POST", `/holt/v1/subscriptions/${uid}:resume`, {});
        await world.delivery(uid, made, isDelivered);
      }
    });

    it("an invalid or past Retry-After does not change the time of the retry", async () => {
      const { group, uid } = await subscribe("/no-pause");
      for (const retryAfter of ["soon", "-5", "1e9", "Wed, 21 Oct 2015 07:28:00 GMT"]) {
        world.sink.behaveOnce("/no-pause", answer(503, { "retry-after": retryAfter }));
        const { attempts } = await world.delivery(uid, await world.group(group), isDelivered);
        assert.equal(attempts, 2, retryAfter);
      }
    });

    it("a sink that is gone gets no deliveries, and its events are kept", async () => {
      const { group, uid } = await subscribe("/gone");
      world.sink.behave(answer(410), "/gone");
      await world.group(group);
      await until(async () => ((await world.queue(uid))?.pause_time ?? null) !== null);
      const other = await subscribe("/not-gone");
      world.sink.behave(accept, "/gone");
      for (let i = 0; i < 3; i++) await world.group(group);
      await world.group(other.group);
      await world.settle();
      assert.equal(world.sink.at("/gone").length, 2);
      assert.match((await world.queue(uid))?.pause_reason ?? "", /410/);
      assert.deepEqual(
        (await world.deliveries(uid)).map(({ state }) => state),
        ["delivered", "pending", "pending", "pending", "pending"],
      );
    });

    it("a sink that refuses one event still receives the others", async () => {
      const { group, uid } = await subscribe("/choosy");
      const { uid: poison } = await world.call("POST", `/iam/v2/identities/${group}`, {
        name: "x",
        claimMatch: { issuer: "https://x.example", subject: "x" },
      });
      await world.delivery(uid, poison, isDelivered);
      let isOpen = false;
      world.sink.behave((response, received) => {
        const isPoison = received.headers["ce-subject"] === poison && !isOpen;
        (isPoison ? answer(500) : accept)(response, received);
      }, "/choosy");
      await world.call("DELETE", `/iam/v2/identities/${poison}`);
      const poisoned = await world.delivery(uid, poison, ({ state, attempts }) => state === "pending" && attempts >= 1);
      const made: string[] = [];
      for (let i = 0; i < 20; i++) made.push(await world.group(group));
      await until(() => made.every((one) => world.sink.accepted("/choosy").some(({ headers }) => headers["ce-subject"] === one)));
      const waiting = (await world.deliveries(uid)).find(({ event_id }) => event_id === poisoned.event_id);
      assert.equal(waiting?.state, "pending");
      isOpen = true;
      await world.settle();
      assert.equal(world.sink.accepted("/choosy").filter(({ headers }) => headers["ce-id"] === poisoned.event_id).length, 1);
    });

    it("a deleted subscription receives no deliveries and no retries", async () => {
      const { group, uid } = await subscribe("/deleted");
      const other = await subscribe("/kept");
      world.sink.behave(answer(503), "/deleted");
      await world.delivery(uid, await world.group(group), wasTried);
      await world.group(group);
      await world.call("DELETE", `/events/v2/subscriptions/${uid}`);
      assert.equal(await world.queue(uid), undefined);
      // One attempt may be under way.
      const seen = world.sink.at("/deleted").length;
      for (let i = 0; i < 5; i++) {
        world.sink.behaveOnce("/kept", answer(503));
        await world.delivery(other.uid, await world.group(other.group), isDelivered);
      }
      assert.ok(world.sink.at("/deleted").length <= seen + 1);
    });

    it("a sink that never answers does not delay other sinks", async () => {
      const dead = await Promise.all(Array.from({ length: 20 }, (_, i) => subscribe(`/dead-${i}`)));
      for (let i = 0; i < dead.length; i++) world.sink.behave(silence, `/dead-${i}`);
      const alive = await subscribe("/alive");
      await Promise.all(dead.map(({ group }) => world.group(group)));
      await until(() => dead.every((_, i) => world.sink.at(`/dead-${i}`).length >= 2));
      const made: string[] = [];
      for (let i = 0; i < 50; i++) made.push(await world.group(alive.group));
      await world.delivery(alive.uid, made.at(-1) ?? "", isDelivered);
      const subjects = world.sink.accepted("/alive").map(({ headers }) => headers["ce-subject"]);
      assert.deepEqual(subjects.slice(1), made);
      // Each of their attempts takes ten seconds. If the working sink had waited for them, they would have made many.
      const tries = dead.map((_, i) => world.sink.at(`/dead-${i}`).length);
      assert.ok(Math.min(...tries) < 10, `${tries}`);
      for (const { uid } of dead) await world.call("DELETE", `/events/v2/subscriptions/${uid}`);
    });
  });
}

interface TlsSink extends AsyncDisposable {
  readonly port: number;
  readonly requests: number;
}

/** Starts a sink with a self-signed certificate. */
async function startTlsSink(): Promise<TlsSink> {
  const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
  let requests = 0;
  const server: Server = createServer({ cert, key }, (_request, response) => {
    requests++;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get requests() {
      return requests;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
