/** Identities in version 1 of the API. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Identities, IdentitySchema as IdentityV1Schema } from "@holt/api/gen/platform/iam/v1/identities_pb.ts";
import { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import { mayReadIdentity } from "../../api/call/authorize.ts";
import { JsonText } from "../../api/call/call.ts";
import { implement, read, type ServiceImplementation } from "../../api/call/implement.ts";
import { getBody } from "../../api/resource/get.ts";
import { compileJsonConverter } from "../../api/v1/convert-json.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";
import { invalidArguments } from "../../lib/errors.ts";
import { identities } from "../api/identities.ts";
import { identityName, userIdentityUid } from "../identities/user-identity.ts";

const LIST = capabilitySet([Capability.CAP_IAM_IDENTITY_LIST]);

const differences: Differences = { "platform.iam.v1.Identity": { renamed: { static: "static_keys" } } };
const toV1 = compileJsonConverter(IdentitySchema, IdentityV1Schema, differences);

export function identitiesServiceV1(service: ServiceImplementation) {
  return implement(
    Identities,
    {
      ...deriveMethods(Identities, { services: [service], kind: "Identity", differences }),

      // Version 2 answers the uid of every user, also of one who has never signed in. Here, only users who have are found.
      lookup: read(async ({ issuer, subject }, call) => {
        assertGiven({ issuer, subject });
        const uid = userIdentityUid(issuer, subject);
        const { text } = await getBody(identities, uid, call.db);
        const identity = JSON.parse(text) as JsonObject;
        const isReadable = await mayReadIdentity(uid, LIST, call, call.db);
        return new JsonText(IdentityV1Schema, JSON.stringify(toV1(isReadable ? identity : withoutSecrets(identity, subject))));
      }),
    },
    "Identity",
  );
}

function assertGiven(request: Readonly<Record<string, string>>): void {
  const missing = Object.keys(request).filter((field) => request[field] === "");
  if (missing.length > 0) throw invalidArguments(missing.map((field) => ({ field, description: `${field} is required` })));
}

/** A name may be an email address. Callers who may not read the identity learn only what they asked with. */
function withoutSecrets(identity: JsonObject, subject: string): JsonObject {
  const { uid = "", claimMatch = {} } = identity;
  return { uid, name: identityName(subject), description: "", claimMatch };
}
