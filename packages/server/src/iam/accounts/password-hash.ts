/** Hashes and checks passwords with Argon2id, off the main thread, a few at a time. */
import { argon2 as argon2WithCallback, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { createFairQueue } from "../../jobs/fair-queue.ts";
import { resourceExhausted } from "../../lib/errors.ts";

export interface PasswordHashes {
  /** @param holder the network or the person that asks; holders take turns. @throws RESOURCE_EXHAUSTED while too many wait */
  hash(password: string, holder: string): Promise<string>;
  /**
   * Does the same work without a hash, so that a missing account answers as late as one with another password.
   * @throws RESOURCE_EXHAUSTED while too many wait
   */
  verify(password: string, stored: string | undefined, holder: string): Promise<boolean>;
  /** Hashes computed so far. */
  computed(): number;
}

/** The first recommendation of OWASP for Argon2id with 19 MiB; 25 to 50 ms of a core. */
const MEMORY_KIB = 19 * 1024;
const PASSES = 2;
const TAG_BYTES = 32;
const SALT_BYTES = 16;
/** Two hashes at a time leave most of the 16 threads of libuv's pool (bin/holtd.js) to files and names. */
const SLOTS = 2;
const MAX_WAITING = 200;
const MAX_WAITING_OF_ONE_HOLDER = 20;

interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly salt: Buffer;
}

const argon2 = promisify(argon2WithCallback);

export function createPasswordHashes(): PasswordHashes {
  const queue = createFairQueue({
    slots: SLOTS,
    maxWaiting: MAX_WAITING,
    maxWaitingOfOne: MAX_WAITING_OF_ONE_HOLDER,
    refusal: () => resourceExhausted("too many people are signing in with a password at this moment; try again shortly", 1),
  });
  const dummy = { memory: MEMORY_KIB, passes: PASSES, salt: randomBytes(SALT_BYTES) };
  const dummyTag = randomBytes(TAG_BYTES);
  let computed = 0;

  function compute(password: string, { memory, passes, salt: nonce }: Cost, holder: string): Promise<Buffer> {
    return queue.run(holder, () => {
      computed++;
      return argon2("argon2id", { message: password.normalize("NFKC"), nonce, parallelism: 1, tagLength: TAG_BYTES, memory, passes });
    });
  }

  return {
    computed: () => computed,
    async hash(password, holder) {
      const salt = randomBytes(SALT_BYTES);
      const tag = await compute(password, { memory: MEMORY_KIB, passes: PASSES, salt }, holder);
      return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=1$${encode(salt)}$${encode(tag)}`;
    },
    async verify(password, stored, holder) {
      const known = stored === undefined ? undefined : parseHash(stored);
      const tag = await compute(password, known?.cost ?? dummy, holder);
      return timingSafeEqual(tag, known?.tag ?? dummyTag) && known !== undefined;
    },
  };
}

function parseHash(stored: string): { readonly cost: Cost; readonly tag: Buffer } {
  const [, memory, passes, salt = "", tag = ""] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$([^$]+)\$([^$]+)$/.exec(stored) ?? [];
  if (tag === "") throw new Error("not a hash of a password");
  return {
    cost: { memory: Number(memory), passes: Number(passes), salt: Buffer.from(salt, "base64") },
    tag: Buffer.from(tag, "base64"),
  };
}

function encode(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}
