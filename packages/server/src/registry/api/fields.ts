/** Rules for the fields of repos and tags. Each returns its violations, with the texts that clients know. */
import { CatalogTierSchema, type Repo } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { isDigest } from "../../blobs/digest.ts";
import type { FieldViolation } from "../../lib/errors.ts";

// The texts quote the patterns as Go's %q does, hence the doubled backslashes.
const ALIAS = /^[a-zA-Z0-9_.\-/]*[a-zA-Z0-9_.-]:[a-zA-Z0-9_.-]+$/;
const ALIAS_TEXT = 'each alias must match "^[a-zA-Z0-9_.\\\\-/]*[a-zA-Z0-9_.\\\\-]:[a-zA-Z0-9_.\\\\-]+$"';
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;
const TAG_TEXT = 'tag must match "^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$"';
// `\S` in the text is that of RE2, which knows only ASCII spaces.
const DESCRIPTION = /^[^\t\n\f\r]{0,512}$/u;
const DESCRIPTION_TEXT = 'description must match "^[\\\\S ]{0,512}$"';
const BUNDLES = ["application", "base", "byol", "ai", "ai-gpu", "featured", "fips", "commercial", "emeritoss"];
const BUNDLES_TEXT = `only the following keywords are valid "${BUNDLES.map((keyword) => `^${keyword}$`).join("|")}"`;

/** The violations of a repo, except those of its name, its sync configuration and its overlay. */
export function repoViolations({ description, catalogTier, bundles, aliases, activeTags }: Repo): FieldViolation[] {
  return [
    ...violationUnless(DESCRIPTION.test(description), "description", DESCRIPTION_TEXT),
    ...violationUnless(CatalogTierSchema.value[catalogTier] !== undefined, "catalog_tier", `catalog_tier has no value ${catalogTier}`),
    ...bundleViolations(bundles),
    ...violationUnless(
      aliases.every((alias) => ALIAS.test(alias)),
      "aliases",
      ALIAS_TEXT,
    ),
    ...violationUnless(
      activeTags.every((tag) => TAG.test(tag)),
      "active_tags",
      TAG_TEXT,
    ),
  ];
}

export function bundleViolations(bundles: readonly string[]): FieldViolation[] {
  return violationUnless(
    bundles.every((bundle) => BUNDLES.includes(bundle)),
    "bundles",
    BUNDLES_TEXT,
  );
}

export function tagNameViolations(name: string): FieldViolation[] {
  return violationUnless(TAG.test(name), "name", TAG_TEXT);
}

export function digestViolations(digest: string): FieldViolation[] {
  return violationUnless(isDigest(digest), "digest", 'digest must be "sha256:" and 64 lower-case hexadecimal digits, or "sha512:" and 128');
}

/** A list with the violation, or an empty one if the value is valid. */
export function violationUnless(isValid: boolean, field: string, description: string): FieldViolation[] {
  return isValid ? [] : [{ field, description }];
}
