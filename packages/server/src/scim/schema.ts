/**
 * Defines the schemas of users and groups (RFC 7643), based on the library scimmy, which also checks values. Nothing
 * changes scimmy's global schemas after this file.
 */
import SCIMMY from "scimmy";
import { badRequest, ScimError } from "./scim-error.ts";

export interface Attribute {
  readonly name: string;
  readonly type: string;
  readonly multiValued: boolean;
  readonly caseExact: boolean;
  /** The directory cannot set it. */
  readonly isReadOnly: boolean;
  /** Neither stored nor returned. */
  readonly isSecret: boolean;
  readonly sub: readonly Attribute[];
}

export interface Extension {
  readonly urn: string;
  readonly attributes: readonly Attribute[];
}

export interface ResourceType {
  readonly name: "User" | "Group";
  readonly endpoint: "/Users" | "/Groups";
  readonly urn: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
  readonly extensions: readonly Extension[];
  /** @throws ScimError invalidValue if a value has the wrong type or a required attribute is missing */
  check(body: Json): void;
}

export type Json = Record<string, unknown>;

type SchemaClass = typeof SCIMMY.Schemas.User | typeof SCIMMY.Schemas.Group;
type Definition = typeof SCIMMY.Schemas.User.definition;

const { User, Group, EnterpriseUser } = SCIMMY.Schemas;
// Directories use their own types for these values, as RFC 7643 §2.4 allows. Holt ignores them.
for (const name of ["emails", "phoneNumbers", "ims", "photos", "addresses", "roles", "x509Certificates"]) {
  User.definition.attribute<InstanceType<typeof SCIMMY.Types.Attribute>>(`${name}.type`).config.canonicalValues = false;
}
User.extend(EnterpriseUser as never, false);
// RFC 7643 §8.7.1 does not define it, and answers do not contain it. Requests may have it.
Group.definition.truncate("members.display");

const DEFINITIONS = [User.definition, Group.definition, EnterpriseUser.definition] as const;

export const userType: ResourceType = defineType("User", "/Users", User, [EnterpriseUser.definition]);
export const groupType: ResourceType = defineType("Group", "/Groups", Group, []);
export const resourceTypes: readonly ResourceType[] = [userType, groupType];

/** The schemas as `/Schemas` returns them. */
export function describeSchemas(base: string): Json[] {
  return DEFINITIONS.map((definition) => JSON.parse(JSON.stringify(definition.describe(`${base}/Schemas`))) as Json);
}

function defineType(
  name: ResourceType["name"],
  endpoint: ResourceType["endpoint"],
  schema: SchemaClass,
  extensions: readonly Definition[],
): ResourceType {
  const { definition } = schema;
  return {
    name,
    endpoint,
    urn: definition.id,
    description: definition.description,
    attributes: readAttributes(definition, true),
    extensions: extensions.map((extension) => ({ urn: extension.id, attributes: readAttributes(extension, false) })),
    check(body) {
      try {
        new schema(body as never, "in");
      } catch (error) {
        if (error instanceof SCIMMY.Types.Error) throw new ScimError(error.status, "invalidValue", error.message);
        if (error instanceof TypeError) throw badRequest("invalidValue", error.message);
        throw error;
      }
    },
  };
}

/** @param withCommon whether to include id, externalId, meta and schemas, which all resources have */
function readAttributes(definition: Definition, withCommon: boolean): Attribute[] {
  return definition.attributes
    .filter((attribute) => attribute instanceof SCIMMY.Types.Attribute && (withCommon || !attribute.config.shadow))
    .map((attribute) => attributeFromDefinition(attribute, attribute.name === "schemas"));
}

function attributeFromDefinition(attribute: InstanceType<typeof SCIMMY.Types.Attribute>, isReadOnly = false): Attribute {
  const { mutable, returned, multiValued, caseExact } = attribute.config;
  return {
    name: attribute.name,
    type: attribute.type,
    multiValued: multiValued === true,
    caseExact: caseExact === true,
    isReadOnly: isReadOnly || mutable === false,
    isSecret: returned === false,
    sub: (attribute.subAttributes ?? []).map((sub) => attributeFromDefinition(sub)),
  };
}
