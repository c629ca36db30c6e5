/** Accounts: what the caller's token is worth, and how a person becomes known to this server. */
import { create } from "@bufbuild/protobuf";
import { Auth, SessionSchema } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import type { PreparedRegistration } from "../../auth/register.ts";
import { bearerToken } from "../../call/authenticate.ts";
import { implement, read } from "../../call/implement.ts";
import type { ServiceDependencies } from "../dependencies.ts";
import { whoAmI } from "./who-am-i.ts";

export function authService({ registrations }: ServiceDependencies) {
  return implement(Auth, {
    validate: read((_request, call) => whoAmI(call)),

    // Public to the pipeline: who registers has no token of ours yet, and proves itself with its issuer's.
    register: {
      kind: "write",
      prepare({ code, identityId }, call) {
        return registrations.prepareRegister({ bearer: bearerToken(call.metadata.authorization), code, identityId }, call.now, call.db);
      },
      async handle(_request, call, prepared: PreparedRegistration) {
        call.changed = await registrations.recordRegister(call.db, prepared);
        return create(SessionSchema, { identity: prepared.identityUid });
      },
    },
  });
}
