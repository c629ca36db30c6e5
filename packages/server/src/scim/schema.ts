/** Users and groups as RFC 7643 describes them, and what of that Holt keeps. The descriptions and the check of values are scimmy's; nothing in it changes after this file. */
import SCIMMY from "scimmy";
import { badRequest, ScimError } from "./scim-error.ts";

export interface Attribute {
  readonly name: string;
  readonly type: string;
  readonly multiValued: boolean;
  readonly caseExact: boolean;
  /** Not for the directory to set. */
  readonly isReadOnly: boolean;
  /** Neither kept nor returned. */
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
  /** @throws ScimError invalidValue, where a value is not of its attribute's type or a required one is missing */
  check(body: Json): void;
}

export type Json = Record<string, unknown>;

type SchemaClass = typeof SCIMMY.Schemas.User | typeof SCIMMY.Schemas.Group;
type Definition = typeof SCIMMY.Schemas.User.definition;

const { User, Group, EnterpriseUser } = SCIMMY.Schemas;
// Directories have types of their own for these values (RFC 7643 §2.4 leaves it to them), and none of them means anything to Holt.
for (const name of ["emails", "phoneNumbers", "ims", "photos", "addresses", "roles", "x509Certificates"]) {
  User.definition.attribute<InstanceType<typeof SCIMMY.Types.Attribute>>(`${name}.type`).config.canonicalValues = false;
}
User.extend(EnterpriseUser as never, false);

const DESCRIBED = [User.definition, Group.definition, EnterpriseUser.definition] as const;

export const userType: ResourceType = defineType("User", "/Users", User, [EnterpriseUser.definition]);
export const groupType: ResourceType = defineType("Group", "/Groups", Group, []);
export const resourceTypes: readonly ResourceType[] = [userType, groupType];

/** As `/Schemas` answers them. */
export function describeSchemas(base: string): Json[] {
  return DESCRIBED.map((definition) => JSON.parse(JSON.stringify(definition.describe(`${base}/Schemas`))) as Json);
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
    attributes: attributesOf(definition, true),
    extensions: extensions.map((extension) => ({ urn: extension.id, attributes: attributesOf(extension, false) })),
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

/** @param withCommon also id, externalId, meta and schemas, which all resources have */
function attributesOf(definition: Definition, withCommon: boolean): Attribute[] {
  return definition.attributes
    .filter((attribute) => attribute instanceof SCIMMY.Types.Attribute && (withCommon || !attribute.config.shadow))
    .map((attribute) => attributeFrom(attribute, attribute.name === "schemas"));
}

function attributeFrom(attribute: InstanceType<typeof SCIMMY.Types.Attribute>, isReadOnly = false): Attribute {
  const { mutable, returned, multiValued, caseExact } = attribute.config;
  return {
    name: attribute.name,
    type: attribute.type,
    multiValued: multiValued === true,
    caseExact: caseExact === true,
    isReadOnly: isReadOnly || mutable === false,
    isSecret: returned === false,
    sub: (attribute.subAttributes ?? []).map((sub) => attributeFrom(sub)),
  };
}
