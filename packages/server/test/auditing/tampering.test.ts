/** Tampering with the audit log in the database is found, and the first bad entry is named. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import {
  AuditService,
  VerifyAuditChainResponse_Problem as Problem,
  VerifyAuditChainResponse_Signature as Signature,
  type VerifyAuditChainResponse,
} from "@holt/api/gen/holt/v1/audit_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { generateKeyPair } from "jose";
import { sql } from "kysely";
import { hashAt, numberBytes, numbersOf } from "../../src/auditing/chain/block.ts";
import { signCheckpoint } from "../../src/auditing/chain/checkpoint.ts";
import { readContents } from "../../src/auditing/chain/entry-contents.ts";
import { hashOf, hashText } from "../../src/auditing/chain/hash.ts";
import type { WriteDb } from "../../src/db/store.ts";
import type { SigningKeys } from "../../src/iam/tokens/signing-keys.ts";
import { runHoltd, startProcess, temporaryFolder } from "../harness/holtd.ts";
import { until } from "../harness/wait.ts";
import { describeWithWorld, type World } from "../harness/world.ts";
import { sealAll } from "./audit-log.ts";

const { verifyAuditChain } = AuditService.method;

async function verify(world: World): Promise<VerifyAuditChainResponse> {
  for (let pageToken = ""; ; ) {
    const answer = await world.must(verifyAuditChain, { parent: world.orgUid, pageToken });
    pageToken = answer.nextPageToken;
    if (pageToken === "") return answer;
  }
}

interface Sealed {
  readonly seq: number;
  readonly hash: Uint8Array;
}

interface Block {
  readonly id: number;
  readonly first: number;
  readonly entries: readonly Sealed[];
}

/** Blocks of the organization. The last one has six entries or more, since nothing is sealed between its writes. */
async function blocksOf(world: World): Promise<Block[]> {
  await until(async () => {
    await sealAll(world);
    await Promise.all(Array.from({ length: 6 }, (_, i) => world.group(world.orgUid, `tampered-${i}`)));
    await sealAll(world);
    return ((await readBlocks(world)).at(-1)?.entries.length ?? 0) >= 6;
  });
  return readBlocks(world);
}

async function readBlocks(world: World): Promise<Block[]> {
  const rows = await world.store.reader
    .selectFrom("audit_block")
    .selectAll()
    .where("org_uid", "=", world.orgUid)
    .orderBy("first_number")
    .execute();
  return rows.map((row) => ({
    ...{ id: Number(row.id), first: Number(row.first_number) },
    entries: numbersOf(row.seqs).map((seq, index) => ({ seq, hash: hashAt(row, index) })),
  }));
}

/** The last block, and the fourth entry from its end. */
async function target(world: World) {
  const block = (await blocksOf(world)).at(-1) as Block;
  const index = block.entries.length - 4;
  return { block, index, number: block.first + index, entry: block.entries[index] as Sealed, end: block.first + block.entries.length - 1 };
}

function storeEntries(db: WriteDb, { id }: Block, entries: readonly Sealed[]): Promise<unknown> {
  const columns = {
    count: entries.length,
    seqs: numberBytes(entries.map(({ seq }) => seq)),
    hashes: Buffer.concat(entries.map(({ hash }) => hash)),
  };
  return db.updateTable("audit_block").set(columns).where("id", "=", id).execute();
}

function moveEnd(db: WriteDb, world: World, number: number, hash: Uint8Array): Promise<unknown> {
  return db
    .updateTable("audit_chain")
    .set({ number, hash: hashText(hash) })
    .where("org_uid", "=", world.orgUid)
    .execute();
}

/** Damages the chain, verifies it, and puts everything back. */
async function afterDamage(world: World, damage: (db: WriteDb) => Promise<unknown>): Promise<VerifyAuditChainResponse> {
  await sealAll(world);
  const { reader } = world.store;
  const blocks = await reader.selectFrom("audit_block").selectAll().where("org_uid", "=", world.orgUid).execute();
  const chain = await reader.selectFrom("audit_chain").selectAll().where("org_uid", "=", world.orgUid).executeTakeFirstOrThrow();
  const contents = await readContents(
    reader,
    blocks.flatMap(({ seqs }) => numbersOf(seqs)),
  );
  await world.store.transaction(damage);
  const answer = await verify(world);
  await world.store.transaction(async (db) => {
    await db.deleteFrom("audit_block").where("org_uid", "=", world.orgUid).execute();
    for (const block of blocks) await db.insertInto("audit_block").values(block).execute();
    await db.updateTable("audit_chain").set(chain).where("org_uid", "=", world.orgUid).execute();
    for (const [seq, content] of contents) await restoreEntry(db, seq, content);
  });
  assert.equal((await verify(world)).problem, Problem.UNSPECIFIED);
  return answer;
}

async function restoreEntry(db: WriteDb, seq: number, content: string): Promise<void> {
  await db.deleteFrom("audit_entry").where("seq", "=", seq).execute();
  const overriding = sql.raw(db.dialect.name === "postgres" ? "overriding system value" : "");
  await sql`insert into audit_entry (seq, content) ${overriding} values (${seq}, ${content})`.execute(db);
}

async function untilSigned(world: World, end: number): Promise<void> {
  world.clock.advance(120_000);
  await until(async () => (await verify(world)).checkpoint >= BigInt(end));
}

describeWithWorld("tampering with the audit log", (world) => {
  test("an intact chain has a checkpoint that the published keys verify", async () => {
    const { end } = await target(world);
    await untilSigned(world, end);
    const answer = await verify(world);
    assert.equal(answer.problem, Problem.UNSPECIFIED);
    assert.equal(answer.signature, Signature.VALID);
    assert.ok(answer.last >= BigInt(end));
  });

  for (const part of ["action", "actor", "after", "details", "organization", "outcome", "target", "time"]) {
    test(`a change of the member ${part} of an entry is found at that entry`, async () => {
      const { number, entry } = await target(world);
      const content = (await readContents(world.store.reader, [entry.seq])).get(entry.seq) ?? "";
      const forged = content.replace(`"${part}":`, `"${part}" :`);
      assert.notEqual(forged, content);
      const answer = await afterDamage(world, (db) =>
        db.updateTable("audit_entry").set({ content: forged }).where("seq", "=", entry.seq).execute(),
      );
      assert.equal(answer.badEntry, BigInt(number));
      assert.equal(answer.problem, Problem.CHANGED);
      assert.equal(answer.last, BigInt(number - 1));
    });
  }

  test("a hash of a block that was changed is found at its entry", async () => {
    const { block, index, number, entry } = await target(world);
    const forged = { ...entry, hash: entry.hash.map((byte) => byte ^ 1) };
    const answer = await afterDamage(world, (db) => storeEntries(db, block, block.entries.with(index, forged)));
    assert.equal(answer.badEntry, BigInt(number));
    assert.equal(answer.problem, Problem.CHANGED);
  });

  test("a block that has lost bytes is found at its first entry", async () => {
    const { block } = await target(world);
    const answer = await afterDamage(world, (db) =>
      db
        .updateTable("audit_block")
        .set({ hashes: Buffer.alloc(31) })
        .where("id", "=", block.id)
        .execute(),
    );
    assert.equal(answer.badEntry, BigInt(block.first));
    assert.equal(answer.problem, Problem.CHANGED);
  });

  test("an entry whose row was deleted is named", async () => {
    const { number, entry } = await target(world);
    const answer = await afterDamage(world, (db) => db.deleteFrom("audit_entry").where("seq", "=", entry.seq).execute());
    assert.equal(answer.badEntry, BigInt(number));
    assert.equal(answer.problem, Problem.REMOVED);
  });

  test("a removed block is named by its first entry", async () => {
    await blocksOf(world);
    const block = (await blocksOf(world)).at(-2) as Block;
    const answer = await afterDamage(world, (db) => db.deleteFrom("audit_block").where("id", "=", block.id).execute());
    assert.equal(answer.badEntry, BigInt(block.first));
    assert.equal(answer.problem, Problem.REMOVED);
  });

  test("removed entries at the end are found, also if the end of the chain was moved back", async () => {
    const { block, index, number, entry, end } = await target(world);
    await untilSigned(world, end);
    for (const movesEnd of [false, true]) {
      const answer = await afterDamage(world, async (db) => {
        await storeEntries(db, block, block.entries.slice(0, index + 1));
        if (movesEnd) await moveEnd(db, world, number, entry.hash);
      });
      assert.equal(answer.badEntry, BigInt(number + 1));
      assert.equal(answer.problem, Problem.REMOVED);
    }
  });

  test("removed blocks at the beginning are found, also if the beginning of the chain was moved", async () => {
    const { end } = await target(world);
    await untilSigned(world, end);
    const first = (await readBlocks(world))[0] as Block;
    const last = first.entries.at(-1) as Sealed;
    for (const movesBase of [false, true]) {
      const answer = await afterDamage(world, async (db) => {
        await db.deleteFrom("audit_block").where("id", "=", first.id).execute();
        const base = { base_number: first.entries.length, base_hash: hashText(last.hash) };
        if (movesBase) await db.updateTable("audit_chain").set(base).where("org_uid", "=", world.orgUid).execute();
      });
      assert.equal(answer.badEntry, 1n);
      assert.equal(answer.problem, Problem.REMOVED);
    }
  });

  test("an inserted entry is named, whether its hash fits or not", async () => {
    const { block, index, number, entry, end } = await target(world);
    const copied = block.entries[0] as Sealed;
    const content = (await readContents(world.store.reader, [copied.seq])).get(copied.seq) ?? "";
    for (const hash of [hashOf(entry.hash, content), copied.hash]) {
      const answer = await afterDamage(world, async (db) => {
        await storeEntries(db, block, block.entries.toSpliced(index + 1, 0, { seq: copied.seq, hash }));
        await moveEnd(db, world, end + 1, (block.entries.at(-1) as Sealed).hash);
      });
      assert.equal(answer.badEntry, BigInt(number + 1));
      assert.equal(answer.problem, Problem.INSERTED);
    }
  });

  test("two entries that changed places are found at the first of them, with their hashes or without", async () => {
    const { block, index, number } = await target(world);
    const [first, second] = block.entries.slice(index) as [Sealed, Sealed];
    const swaps = [
      [second, first],
      [
        { ...second, hash: first.hash },
        { ...first, hash: second.hash },
      ],
    ] as const;
    for (const swapped of swaps) {
      const answer = await afterDamage(world, (db) => storeEntries(db, block, block.entries.toSpliced(index, 2, ...swapped)));
      assert.equal(answer.badEntry, BigInt(number));
      assert.equal(answer.problem, Problem.REORDERED);
    }
  });

  test("a rewritten chain differs from its signed checkpoint", async () => {
    const { block, index, end } = await target(world);
    await untilSigned(world, end);
    const contents = await readContents(
      world.store.reader,
      block.entries.map(({ seq }) => seq),
    );
    const answer = await afterDamage(world, async (db) => {
      const entries = [...block.entries];
      for (let at = index; at < entries.length; at++) {
        const { seq } = entries[at] as Sealed;
        const content = (contents.get(seq) ?? "").replace('"outcome":"OK"', '"outcome":"forged"');
        await db.updateTable("audit_entry").set({ content }).where("seq", "=", seq).execute();
        entries[at] = { seq, hash: hashOf((entries[at - 1] as Sealed).hash, content) };
      }
      await storeEntries(db, block, entries);
      await moveEnd(db, world, end, (entries.at(-1) as Sealed).hash);
    });
    assert.equal(answer.problem, Problem.CHANGED);
    assert.match(answer.description, /signed checkpoint/);
  });

  test("holtd audit verify finds the first bad entry and rows of no block without a server, and succeeds on an intact log", async () => {
    const { number, entry } = await target(world);
    const { databaseUrl: HOLT_DATABASE_URL, dataDir: HOLT_DATA_DIR } = world;
    const run = async (...args: string[]) => {
      await using command = startProcess(["audit", "verify", ...args], { HOLT_DATABASE_URL, HOLT_DATA_DIR });
      return await command.ended;
    };
    const intact = await run();
    assert.equal(intact.code, 0, intact.stdout + intact.stderr);
    assert.match(intact.stdout, /intact/);
    const content = (await readContents(world.store.reader, [entry.seq])).get(entry.seq) ?? "";
    await world.store.transaction((db) => db.updateTable("audit_entry").set({ content: "{}" }).where("seq", "=", entry.seq).execute());
    const damaged = await run(world.orgUid);
    await world.store.transaction((db) => db.updateTable("audit_entry").set({ content }).where("seq", "=", entry.seq).execute());
    assert.equal(damaged.code, 1);
    assert.match(damaged.stdout, new RegExp(`NOT INTACT: entry ${number} was changed`));
    await world.store.transaction((db) => restoreEntry(db, -1, content));
    const inserted = await run();
    await world.store.transaction((db) => db.deleteFrom("audit_entry").where("seq", "=", -1).execute());
    assert.equal(inserted.code, 1);
    assert.match(inserted.stdout, /row -1 .* was inserted/);
  });

  test("holtd audit verify accepts an export whose entries contain line separators of Unicode", async () => {
    await world.must(GroupsService.method.updateGroup, {
      group: { uid: world.orgUid, description: "one\u2028two\u2029three" },
      updateMask: { paths: ["description"] },
    });
    await sealAll(world);
    await using folder = await temporaryFolder();
    const file = join(folder.path, "audit.jsonl");
    const settings = { HOLT_DATABASE_URL: world.databaseUrl, HOLT_DATA_DIR: world.dataDir };
    const { stdout: exported } = await runHoltd(["audit", "export", world.orgUid], settings);
    assert.match(exported, /one\u2028two/);
    await writeFile(file, exported);
    const { code, stdout, stderr } = await runHoltd(["audit", "verify", "--file", file], {});
    assert.equal(code, 0, stdout + stderr);
  });

  test("holtd audit verify accepts an export with keys only if one of them signed the newest checkpoint", async () => {
    const { end } = await target(world);
    await untilSigned(world, end);
    await using folder = await temporaryFolder();
    const [file, jwks] = [join(folder.path, "audit.jsonl"), join(folder.path, "keys.json")];
    const settings = { HOLT_DATABASE_URL: world.databaseUrl, HOLT_DATA_DIR: world.dataDir };
    const lines = (await runHoltd(["audit", "export", world.orgUid], settings)).stdout.trim().split("\n");
    const published = await (await fetch(`${world.baseUrl}/.well-known/jwks.json`)).text();
    const verdictOn = async (text: readonly string[], keys = published) => {
      await writeFile(file, text.join("\n"));
      await writeFile(jwks, keys);
      const { code, stdout, stderr } = await runHoltd(["audit", "verify", "--file", file, "--jwks", jwks], {});
      return `${code} ${stdout}${stderr}`;
    };
    assert.match(await verdictOn(lines), /^0 [\s\S]*signature valid/);
    assert.match(await verdictOn(lines, '{"keys":[]}'), /^1 [\s\S]*NOT VERIFIED: [0-9a-f]{40}: its newest checkpoint is not signed/);
    const entries = lines.slice(0, -1);
    assert.match(await verdictOn(entries), /^1 [\s\S]*NOT VERIFIED: [\s\S]*no checkpoint/);
    assert.match(await verdictOn([]), /^1 [\s\S]*NOT VERIFIED: the file has no checkpoint/);
    const older = await retiredCheckpoint(world, entries[0] ?? "");
    assert.match(await verdictOn([...entries, older, lines.at(-1) ?? ""]), /^0 [\s\S]*signature unknown key[\s\S]*signature valid/);
    assert.match(await verdictOn([...entries, older]), /^1 [\s\S]*NOT VERIFIED/);
  });
});

/** The line of a checkpoint that covers an entry, signed with a key that is no longer published. */
async function retiredCheckpoint(world: World, line: string): Promise<string> {
  const { organization, number, hash } = JSON.parse(line) as { organization: string; number: number; hash: string };
  const { privateKey } = await generateKeyPair("RS256");
  const keys = { current: async () => ({ kid: "retired", privateKey }) } as SigningKeys;
  const chain = { org_uid: organization, number, hash, base_number: 0, base_hash: "" };
  const { jws } = await signCheckpoint(chain, { keys, issuer: world.baseUrl, clock: world.clock });
  return JSON.stringify({ checkpoint: jws });
}
