/** Accounts: what the caller's token is worth, and how a person becomes known to this server. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { Auth, HeadlessSessionSchema, SessionSchema } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { bearerToken } from "../../api/call/authenticate.ts";
import type { Call } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { Code, HoltError, permissionDenied } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";
import { takeHeadlessSession } from "../../sign-in/headless.ts";
import { deleteAccount } from "../joining/delete-account.ts";
import type { PreparedRegistration } from "../joining/register.ts";
import { isNarrowed } from "../tokens/narrowing.ts";
import { whoAmI } from "./who-am-i.ts";

export function authService({ registrations, grants, bootstrapOwner }: ServiceDependencies) {
  return implement(Auth, {
    validate: read((_request, call) => whoAmI(call)),

    // Public to the pipeline: who registers has no token of ours yet, and proves itself with its issuer's.
    register: {
      kind: "write",
      prepare({ code, identityId }, call) {
        return registrations.prepareRegister({ bearer: bearerToken(call.metadata.authorization), code, identityId }, call.now, call.db);
      },
      async handle(_request, call, prepared: PreparedRegistration) {
        const { changed, groupUid } = await registrations.recordRegister(call.db, prepared);
        call.changed = changed;
        return create(SessionSchema, { identity: prepared.identityUid, group: groupUid });
      },
    },

    // A program asks for it again and again until somebody has signed in; who has it can read it with the program's key only.
    getHeadlessSession: write(async ({ code }, call) => {
      const session = await takeHeadlessSession(call.db, code, call.now);
      if (session === undefined)
        throw new HoltError(Code.NOT_FOUND, "Not found: nobody has signed in with this code, or its session was fetched or has expired");
      const { ecdhPublicKey, encryptedIdToken } = session;
      return create(HeadlessSessionSchema, { ecdhPublicKey: Buffer.from(ecdhPublicKey), encryptedIdtoken: encryptedIdToken });
    }),

    delete: write(async ({ id }, call) => {
      assertOwnAccount(id, call, bootstrapOwner);
      await deleteAccount(call.db, id, grants);
      return create(EmptySchema);
    }),
  });
}

/** In the same words for everybody else's, whether there is one. */
function assertOwnAccount(id: string, { principal }: Call, bootstrapOwner: string): void {
  if (principal === undefined || principal.uid !== id || !isInRoot(id))
    throw permissionDenied("only users delete accounts, each its own; an identity made in a group is deleted there");
  if (isNarrowed(principal)) throw permissionDenied("this token is narrowed to less than deleting the account");
  if (id === bootstrapOwner) throw permissionDenied("the identity that this installation began with stays, so that somebody can get in");
}
