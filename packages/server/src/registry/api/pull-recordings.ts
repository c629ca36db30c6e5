/** The recording of pulls, as organizations choose it within what the operator allows. */
import { create } from "@bufbuild/protobuf";
import {
  type PullRecording,
  PullRecordingSchema,
  PullRecordingsService,
  PullRecording_Recording as Recording,
} from "@holt/api/gen/holt/v1/pull_recordings_pb.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { invalidArgument, notFound } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";
import {
  effectiveRecording,
  PULL_RECORDINGS,
  type PullRecordings,
  readWanted,
  type PullRecording as Stored,
} from "../content/pull-recording.ts";

const NUMBERS: Readonly<Record<Stored, Recording>> = {
  blobs: Recording.BLOBS,
  manifests: Recording.MANIFESTS,
  hourly: Recording.HOURLY,
  off: Recording.OFF,
};

export function pullRecordingsService(allowed: PullRecordings) {
  return implement(PullRecordingsService, {
    getPullRecording: read(async ({ uid }, { db }) => find(db, uid, allowed)),

    updatePullRecording: write(async ({ pullRecording, updateMask }, call) => {
      const incoming = pullRecording as PullRecording;
      const group = call.db.selectFrom("group").select("uid").where("uid", "=", incoming.uid);
      await call.db.dialect.forUpdate(group).execute();
      const current = await find(call.db, incoming.uid, allowed);
      const { recording } = applyMask(PullRecordingSchema, current, incoming, updateMask);
      if (recording === current.recording) {
        call.changed = false;
        return current;
      }
      await save(call.db, incoming.uid, recording);
      return find(call.db, incoming.uid, allowed);
    }),
  });
}

/** @throws NOT_FOUND; INVALID_ARGUMENT for a folder */
async function find(db: ReadDb, uid: string, allowed: PullRecordings): Promise<PullRecording> {
  const group = await db.selectFrom("group").select("uid").where("uid", "=", uid).executeTakeFirst();
  if (group === undefined) throw notFound("Group", uid.slice(0, 200));
  if (!isInRoot(uid)) throw invalidArgument("uid", "uid must be that of an organization: its folders share its recording");
  const wanted = await readWanted(db, [uid]);
  const own = wanted.get(uid);
  return create(PullRecordingSchema, {
    uid,
    recording: own === undefined ? Recording.UNSPECIFIED : NUMBERS[own],
    effectiveRecording: NUMBERS[effectiveRecording(allowed, wanted, uid)],
  });
}

/** @throws INVALID_ARGUMENT for an unknown number */
async function save(db: WriteDb, uid: string, recording: Recording): Promise<void> {
  if (recording === Recording.UNSPECIFIED) {
    await db.deleteFrom("pull_recording").where("org_uid", "=", uid).execute();
    return;
  }
  const stored = PULL_RECORDINGS.find((name) => NUMBERS[name] === recording);
  if (stored === undefined) throw invalidArgument("recording", "recording must be one that this server knows");
  await db
    .insertInto("pull_recording")
    .values({ org_uid: uid, recording: stored })
    .onConflict((conflict) => conflict.column("org_uid").doUpdateSet({ recording: stored }))
    .execute();
}
