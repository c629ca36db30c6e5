/** Signature identities as a resource, and the identities that count in a group. */
import { type SignatureIdentity, SignatureIdentitySchema } from "@holt/api/gen/holt/v1/signature_identities_pb.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertName, assertNone, descriptionViolations } from "../../api/resource/names.ts";
import type { ReadDb } from "../../db/store.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { ancestry } from "../../lib/uid.ts";
import { isIssuerUrl } from "../tokens/issuer-url.ts";
import { patternViolations } from "../tokens/pattern.ts";

/** Characters, as many as `matchesPattern` compares. */
const MAX_SUBJECT = 512;
const MAX_IDENTITIES_OF_GROUP = 100;

export const signatureIdentities = defineResource(SignatureIdentitySchema, {
  table: "signature_identity",
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
  check(identity) {
    assertName(identity.name);
    assertNone([...descriptionViolations(identity.description), ...issuerViolations(identity), ...subjectViolations(identity)]);
  },
});

function issuerViolations({ issuer }: SignatureIdentity): readonly FieldViolation[] {
  if (isIssuerUrl(issuer)) return [];
  return [{ field: "signature_identity.issuer", description: "issuer must be an http or https URL without query, fragment and user" }];
}

function subjectViolations({ sub }: SignatureIdentity): readonly FieldViolation[] {
  const field = "signature_identity.subject";
  if (sub.case === undefined || sub.value === "") return [{ field, description: "subject or subject_pattern is required" }];
  if (sub.case === "subjectPattern") return patternViolations("signature_identity.subject_pattern", sub.value);
  if (sub.value.length <= MAX_SUBJECT && isCleanText(sub.value)) return [];
  return [{ field, description: `subject must be one line of at most ${MAX_SUBJECT} characters` }];
}

/** The identities of a group and of all groups above, those of the nearest groups first. */
export async function findSignatureIdentities(db: ReadDb, groupUid: string): Promise<readonly SignatureIdentity[]> {
  const rows = await db
    .selectFrom("signature_identity")
    .select("body")
    .where("parent", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(ancestry(groupUid)).as("v")).select("v.value"))
    .orderBy("parent", "desc")
    .orderBy("uid")
    .limit(MAX_IDENTITIES_OF_GROUP)
    .execute();
  return rows.map(({ body }) => messageFromJson(SignatureIdentitySchema, body));
}
