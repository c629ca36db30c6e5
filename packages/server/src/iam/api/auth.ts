/** Accounts: what the caller may do with its token, and how a person registers with this server and leaves it. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { Auth, HeadlessSessionSchema, SessionSchema } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { bearerToken } from "../../api/call/authenticate.ts";
import type { Call } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { Code, HoltError, permissionDenied } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { deleteAccount } from "../joining/delete-account.ts";
import { deleteMostBindings } from "../joining/delete-most-bindings.ts";
import type { PreparedRegistration, Registrations } from "../joining/register.ts";
import { isNarrowed } from "../tokens/narrowing.ts";
import type { StaffCollaborators } from "./staff.ts";
import { whoAmI } from "./who-am-i.ts";

/** The session of a program that signs in on another machine, encrypted for that program. */
export interface HeadlessSession {
  /** The base64url text of the server's X25519 public key. */
  readonly ecdhPublicKey: string;
  /** Nonce, ciphertext and tag, one after the other. */
  readonly encryptedIdToken: Uint8Array;
}

export interface AuthCollaborators extends StaffCollaborators {
  readonly store: Store;
  readonly registrations: Registrations;
  readonly grants: Grants;
  /** Takes the session that waits under the code; undefined if none is waiting. A session can be taken once. */
  takeHeadlessSession(db: WriteDb, code: string, now: Date): Promise<HeadlessSession | undefined>;
}

export function authService({ store, registrations, grants, bootstrapOwner, takeHeadlessSession }: AuthCollaborators) {
  return implement(Auth, {
    validate: read((_request, call) => whoAmI(call)),

    // Public for the pipeline: the caller has no token of this server yet, and proves itself with a token of its issuer.
    register: {
      kind: "write",
      prepare({ code, identityId }, call) {
        return registrations.prepareRegister({ bearer: bearerToken(call.metadata.authorization), code, identityId }, call.now, call.db);
      },
      async handle(_request, call, prepared: PreparedRegistration) {
        const { changed, groupUid } = await registrations.recordRegister(call.db, prepared);
        call.db.audit.actor = prepared.identityUid;
        call.changed = changed;
        return create(SessionSchema, { identity: prepared.identityUid, group: groupUid });
      },
    },

    // A program polls until a person has signed in. Only the program's key decrypts the session.
    getHeadlessSession: write(async ({ code }, call) => {
      const session = await takeHeadlessSession(call.db, code, call.now);
      if (session === undefined)
        throw new HoltError(
          Code.NOT_FOUND,
          "Not found: no session waits under this code: nobody has signed in with it yet, or the session was fetched or has expired",
        );
      const { ecdhPublicKey, encryptedIdToken } = session;
      return create(HeadlessSessionSchema, { ecdhPublicKey: Buffer.from(ecdhPublicKey), encryptedIdtoken: encryptedIdToken });
    }),

    delete: {
      kind: "write",
      async prepare({ id }, call) {
        assertOwnAccount(id, call, bootstrapOwner);
        await deleteMostBindings({ store, grants }, id);
      },
      async handle({ id }, call) {
        await deleteAccount(call.db, id, grants);
        return create(EmptySchema);
      },
    },
  });
}

/** The refusal is the same for every other account, whether it exists or not. */
function assertOwnAccount(id: string, { principal }: Call, bootstrapOwner: string): void {
  if (principal === undefined || principal.uid !== id || !isInRoot(id))
    throw permissionDenied("users can delete only their own account; an identity that was created in a group is deleted there");
  if (isNarrowed(principal)) throw permissionDenied("this token is narrowed and does not allow deleting the account");
  if (id === bootstrapOwner)
    throw permissionDenied("the identity that this installation began with cannot be deleted, so that somebody can always sign in");
}
