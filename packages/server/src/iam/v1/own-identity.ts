/** The identities service of the events package of version 1: registers users, and changes the metadata of the calling user. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import {
  Identities,
  type Identity,
  type IdentityMetadata as IdentityMetadataV1,
  IdentityMetadataSchema as IdentityMetadataV1Schema,
  IdentityMetadata_OnboardingQuestionsSchema as OnboardingQuestionsSchema,
  IdentitySchema as RegisteredIdentitySchema,
} from "@holt/api/gen/platform/events/v1/identities_pb.ts";
import {
  type IdentityMetadata,
  IdentityMetadataSchema,
  UpdateIdentityMetadataRequestSchema,
} from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { JsonText, type WriteCall } from "../../api/call/call.ts";
import { implement, write } from "../../api/call/implement.ts";
import { compileJsonConverter } from "../../api/v1/convert-json.ts";
import { compileMask, compileMessageConverter } from "../../api/v1/convert-message.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";
import { Code, HoltError, invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { identities } from "../api/identities.ts";
import { assertSmallMetadata, updateIdentityMetadata } from "../api/identity-metadata.ts";
import { isStaff, type StaffCollaborators } from "../api/staff.ts";
import type { Grants } from "../grants/grants.ts";
import { newUserIdentity, userIdentityUid } from "../identities/user-identity.ts";
import { insertIdentity } from "../joining/register.ts";
import { normalizeIssuer } from "../tokens/jwt.ts";
import type { Profile } from "../tokens/subject.ts";

const QUESTIONS = "platform.events.v1.IdentityMetadata.OnboardingQuestions";
/** Holt does not keep the providers; the answer and the event repeat those of the request. */
const questions: Differences = { [QUESTIONS]: { renamed: { company_name: "company" }, absent: ["providers"] } };
const metadata: Differences = {
  "platform.events.v1.IdentityMetadata": { renamed: { updatesOptIn: "updates_opt_in" }, answered: { onboarding_questions: () => ({}) } },
};

const questionsFromV1 = compileMessageConverter(OnboardingQuestionsSchema, IdentityMetadataSchema, questions);
const questionsMask = compileMask(OnboardingQuestionsSchema, IdentityMetadataSchema, questions);
const questionsToV1 = compileJsonConverter(IdentityMetadataSchema, OnboardingQuestionsSchema, questions);
const metadataToV1 = compileJsonConverter(IdentityMetadataSchema, IdentityMetadataV1Schema, metadata);
const encode = compileJsonEncoder(IdentityMetadataSchema);

export interface OwnIdentityCollaborators extends StaffCollaborators {
  readonly grants: Grants;
}

export function ownIdentityServiceV1(collaborators: OwnIdentityCollaborators) {
  return implement(
    Identities,
    {
      create: write((identity, call) => registerUser(identity, call, collaborators)),
      updateMetadata: write(updateMetadata),
    },
    "Identity",
  );
}

/** Metadata of a user who has not signed in. */
const NO_PROFILE: Profile = { actor: {}, email: undefined, emailVerified: false, upstream: {} };

/** The identity that the user will have, so that it is known before the user signs in. */
async function registerUser(
  { issuer, subject, issuerKeys, expiration }: Identity,
  call: WriteCall,
  { grants, ...collaborators }: OwnIdentityCollaborators,
): Promise<Identity> {
  if (issuerKeys !== "" || expiration !== undefined)
    throw invalidArgument("issuer_keys", "an identity with keys belongs to a group: create it with POST /iam/v1/identities/{group}");
  identities.check?.(newUserIdentity(issuer, subject, NO_PROFILE, call.now), call.now);
  if (!isStaff(call, "", collaborators)) throw permissionDenied("only the operator may register other users", { capability: "internal" });
  const account = { identityUid: userIdentityUid(issuer, subject), issuer: normalizeIssuer(issuer), subject, profile: NO_PROFILE };
  const isNew = await insertIdentity(call.db, account, call.now, grants);
  if (!isNew) {
    const resource = { kind: "Identity", uid: account.identityUid };
    throw new HoltError(Code.ALREADY_EXISTS, "Already exists: this user is registered", { resource });
  }
  return create(RegisteredIdentitySchema, { id: account.identityUid, issuer: account.issuer, subject });
}

/** Questions that a request leaves out keep their answers. */
async function updateMetadata({ onboardingQuestions: given, updatesOptIn }: IdentityMetadataV1, call: WriteCall) {
  const answers = given === undefined ? create(IdentityMetadataSchema) : (questionsFromV1(given) as IdentityMetadata);
  const paths = [...(given === undefined ? [] : questionsMask(given)), "updates_opt_in"];
  const request = create(UpdateIdentityMetadataRequestSchema, {
    identityMetadata: { ...answers, updatesOptIn },
    updateMask: create(FieldMaskSchema, { paths }),
  });
  const providers = given?.providers ?? [];
  assertSmallMetadata(JSON.stringify(providers).length);
  const stored = JSON.parse(encode(await updateIdentityMetadata(request, call))) as JsonObject;
  const onboardingQuestions = { ...questionsToV1(stored), providers };
  return new JsonText(IdentityMetadataV1Schema, JSON.stringify({ ...metadataToV1(stored), onboardingQuestions }));
}
