/** The audit log: seals entries, signs checkpoints, deletes old entries, streams, and serves the log. */
import type { Platform, Served } from "../api/domain.ts";
import type { Iam } from "../iam/iam.ts";
import { signJwt } from "../iam/tokens/sign-jwt.ts";
import { Loop, waitFully } from "../jobs/loop.ts";
import { createOutboundClient } from "../outbound/client.ts";
import { auditService } from "./api/audit.ts";
import { type CheckpointParts, signCheckpoints } from "./chain/checkpoint.ts";
import { SealingTurn, seal } from "./chain/seal.ts";
import { indexBlocks, mergeSegments } from "./chain/segment-index.ts";
import { pruneEntries } from "./retention.ts";
import { startStream } from "./streams/stream.ts";
import { createTarget } from "./streams/targets.ts";

export interface AuditSettings {
  /** 0 for ever. */
  readonly auditRetentionMs: number;
  readonly auditCheckpointMs: number;
  readonly auditStreams: readonly URL[];
  readonly outboundAllowCidrs: readonly string[];
}

/** A write wakes nothing, so that it costs nothing more. Entries wait this long, and are sealed together. */
const SEAL_MS = 2000;
const INDEX_MS = 5000;
const PRUNE_MS = 3_600_000;
const PRUNE_SPACING_MS = 1000;

export function startAuditing(platform: Platform, { keys }: Iam, settings: AuditSettings): Served {
  const { store, clock, log, baseUrl: issuer, pageTokens, bootstrapOwner } = platform;
  const { auditRetentionMs, auditCheckpointMs: intervalMs, auditStreams, outboundAllowCidrs } = settings;
  const parts: CheckpointParts = { store, keys, clock, log, issuer, intervalMs };
  platform.own(startSealing(parts));
  if (auditRetentionMs > 0) platform.own(startPruning(parts, auditRetentionMs));
  if (auditStreams.length > 0) {
    const client = platform.own(createOutboundClient({ allowCidrs: outboundAllowCidrs }));
    const sign = (claims: Readonly<Record<string, unknown>>) => signJwt(keys, claims);
    for (const url of auditStreams)
      platform.own(startStream(url, createTarget(url, { client, sign, clock, issuer }), { store, clock, log }));
  }
  return { services: [auditService({ store, pageTokens, keys, bootstrapOwner })] };
}

function startSealing(parts: CheckpointParts): AsyncDisposable {
  const { store, log, clock } = parts;
  const turn = new SealingTurn();
  const sealing = new Loop({
    name: "sealing audit entries",
    log,
    spacingMs: 0,
    step: async () => ((await seal(store, clock, turn)) ? 0 : SEAL_MS),
  });
  const indexing = new Loop({
    name: "indexing audit entries",
    log,
    spacingMs: 0,
    step: async () => ((await indexBlocks(store)) || (await mergeSegments(store)) ? 0 : INDEX_MS),
  });
  const signing = new Loop({
    name: "signing audit checkpoints",
    log,
    spacingMs: SEAL_MS,
    async step() {
      await signCheckpoints(parts);
      return SEAL_MS;
    },
  });
  return {
    async [Symbol.asyncDispose]() {
      await sealing[Symbol.asyncDispose]();
      await indexing[Symbol.asyncDispose]();
      await signing[Symbol.asyncDispose]();
    },
  };
}

function startPruning(parts: CheckpointParts, retentionMs: number): AsyncDisposable {
  const delayMs = Math.min(PRUNE_MS, Math.max(PRUNE_SPACING_MS, retentionMs / 10));
  const step = waitFully(async () => ((await pruneEntries(parts, retentionMs)) ? 0 : delayMs));
  return new Loop({ name: "deleting old audit entries", log: parts.log, spacingMs: PRUNE_SPACING_MS, step });
}
