// Describes every operation of the contract as a command of the command line: words, arguments, flags, columns. Pure.
import { getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { FieldBehavior } from "../packages/api/gen/google/api/field_behavior_pb.ts";
import { capabilityName, capabilityNameOption, fieldBehavior, http, iam, mcp } from "../packages/api/index.ts";
import { servicesOfHolt, servicesV1, servicesV2 } from "../packages/client/src/services.ts";

/** Domain and name of the resources that Holt adds to the contract. Those that are not listed belong to iam. */
const placesOfHolt = {
  access: ["iam", "access"],
  accountLinks: ["iam", "accountLinks"],
  accounts: ["iam", "accounts"],
  audit: ["audit", "log"],
  advisoryMirrors: ["vulnerabilities", "mirrors"],
  advisoryPreviews: ["vulnerabilities", "previews"],
  attention: ["iam", "attention"],
  deliveries: ["events", "deliveries"],
  endOfLife: ["registry", "endOfLife"],
  events: ["events", "events"],
  imageContents: ["registry", "imageContents"],
  imagePackages: ["registry", "imagePackages"],
  imageReferrers: ["registry", "imageReferrers"],
  imports: ["vulnerabilities", "imports"],
  libraryArtifacts: ["libraries", "holtArtifacts"],
  memberships: ["iam", "memberships"],
  pullRecordings: ["registry", "pullRecordings"],
  pullTokens: ["iam", "pullTokens"],
  publicContent: ["iam", "publicContent"],
  pythonProjects: ["libraries", "pythonProjects"],
  savedFilters: ["iam", "savedFilters"],
  search: ["iam", "search"],
  sessions: ["iam", "sessions"],
  resourceLimits: ["iam", "resourceLimits"],
  signInSettings: ["iam", "signInSettings"],
  signatureIdentities: ["registry", "signatureIdentities"],
  signatureKeys: ["registry", "signatureKeys"],
  subscriptions: ["events", "subscriptionSettings"],
  vulnerabilities: ["vulnerabilities", "findings"],
};

/** The kind of resource that a field names, by the name of the field. Names are accepted there instead of uids. */
const kindOfField = {
  parent: "group",
  parent_id: "group",
  group: "group",
  group_uid: "group",
  group_id: "group",
  identity: "identity",
  identity_uid: "identity",
  creator: "identity",
  role: "role",
  role_uid: "role",
  default_role: "role",
  repo: "repo",
  repo_id: "repo",
  repo_uid: "repo",
  repo_uidp: "repo",
  registry_id: "group",
  identity_provider_uid: "identityProvider",
  identity_provider_id: "identityProvider",
  identity_provider_uidp: "identityProvider",
  ancestors_of: "place",
  descendants_of: "place",
  children_of: "place",
};

/** The kind of resource that `uid` or `id` names, by resource. */
const kindOfUid = {
  groups: "group",
  identities: "identity",
  roles: "role",
  repos: "repo",
  identityProviders: "identityProvider",
  accountAssociations: "accountAssociation",
  pullTokens: "pullToken",
  mirrors: "mirror",
  signatureIdentities: "signatureIdentity",
  signatureKeys: "signatureKey",
  pythonProjects: "pythonProject",
  access: "place",
  memberships: "group",
  imageContents: "repo",
  imagePackages: "repo",
  imageReferrers: "repo",
  findings: "place",
  pullRecordings: "group",
};

/** Messages with a form of their own in JSON. */
const wellKnown = {
  "google.protobuf.Timestamp": "time",
  "google.protobuf.Duration": "duration",
  "google.protobuf.Struct": "json",
  "google.protobuf.Value": "json",
  "google.protobuf.Any": "json",
};

const MAX_DEPTH = 4;
const PAGING = new Set(["page_size", "page_token", "skip"]);

/** @param comments a map from a descriptor's path to its comment */
export function describeOperations(comments) {
  const operations = [
    ...operationsOf(servicesV2, [], comments),
    ...operationsOf(servicesV1, ["v1"], comments),
    ...Object.entries(servicesOfHolt).flatMap(([name, service]) => {
      const place = placesOfHolt[name];
      if (place === undefined) throw new Error(`placesOfHolt has no place for the commands of ${name}`);
      const [domain, resource] = place;
      return operationsOfService(service, { words: [domain, resource], called: name, comments });
    }),
  ];
  const paths = new Set();
  for (const { path } of operations) {
    if (paths.has(path)) throw new Error(`two operations are "holt ${path}"`);
    paths.add(path);
  }
  return operations;
}

function operationsOf(domains, prefix, comments) {
  return Object.entries(domains).flatMap(([domain, resources]) =>
    Object.entries(resources).flatMap(([resource, service]) =>
      operationsOfService(service, { words: [...prefix, domain, resource], called: resource, comments }),
    ),
  );
}

/** @param called the name of the resource in the names of the methods */
function operationsOfService(service, { words, called, comments }) {
  const verbs = service.methods.map(({ name }) => verbOf(name, called));
  return service.methods.map((method, index) => {
    const isOfMany = method.name.endsWith(capitalized(called)) && verbs.indexOf(verbs[index]) !== verbs.lastIndexOf(verbs[index]);
    return describeOperation(method, { verb: isOfMany ? `${verbs[index]}All` : verbs[index], words, service, comments });
  });
}

function describeOperation(method, { verb, words, service, comments }) {
  const rule = ruleOf(method, service);
  const place = { resource: words.at(-1), comments, method };
  const variables = [...rule.path.matchAll(/\{([\w.]+)(?:=[^}]*)?\}/g)].map(([, field]) => field);
  const positional = variables.filter((field) => !isParent(field));
  const fields = fieldsOf(method.input, { prefix: [], names: [], depth: 0, body: rule.body, ...place });
  const mask = method.input.fields.find(({ message }) => message?.typeName === "google.protobuf.FieldMask");
  const items = itemsOf(method);
  const description = commentOf(comments, method) || getOption(method, mcp)?.description || "";
  return {
    path: [...words, verb].map(kebab).join(" "),
    operation: `${service.typeName}/${method.name}`,
    summary: firstSentence(description),
    description,
    http: rule,
    capabilities: capabilitiesOf(method),
    destructive: getOption(method, mcp)?.destructive === true || rule.method === "DELETE",
    arguments: positional.map((field) => {
      const described = fields.find(({ proto }) => proto === field) ?? outputField(method.input, field, place);
      return { ...described, name: described.name.split(".").at(-1) };
    }),
    // An update changes what is given, so nothing else is required.
    flags: fields
      .filter(({ proto }) => !positional.includes(proto))
      .map(({ required, ...flag }) => (mask || !required ? flag : { ...flag, required })),
    ...(mask && { mask: { field: mask.jsonName, body: rule.body } }),
    ...(items && { items: items.jsonName, paged: isPaged(method) }),
    columns: columnsOf(items?.message ?? method.output),
  };
}

function isParent(field) {
  return field === "parent" || field === "parent_id";
}

/** Operations without a path of REST are called as Connect does it. */
function ruleOf(method, service) {
  const rule = hasOption(method, http) ? getOption(method, http) : undefined;
  if (rule?.pattern.value === undefined) return { method: "POST", path: `/${service.typeName}/${method.name}`, body: "*" };
  return { method: rule.pattern.case.toUpperCase(), path: rule.pattern.value, body: rule.body };
}

/** `list` for ListGroups of groups; `batch-create` for BatchCreateRoleBindings of roleBindings. EndSessions becomes `end-all` beside EndSession. */
function verbOf(name, resource) {
  const plural = capitalized(resource);
  const singular = plural.replace(/ies$/, "y").replace(/s$/, "");
  for (const part of [plural, singular]) {
    const rest = name.replace(part, "");
    if (rest !== name && rest !== "" && /^(?:[A-Z]|$)/.test(name.slice(name.indexOf(part) + part.length))) return rest;
  }
  return name;
}

/** The path of a field that only names the resource in the path of REST, such as `group.uid`. */
function outputField(message, path, place) {
  const names = path.split(".");
  let desc = message;
  let found;
  const json = [];
  for (const name of names) {
    found = desc.fields.find((field) => field.name === name);
    json.push(found.jsonName);
    desc = found.message;
  }
  return describeField(found, { ...place, names, json });
}

/** Every field that a caller can set, those of messages in dotted flags. */
function fieldsOf(message, place) {
  return message.fields.flatMap((field) => {
    if (field.deprecated || isOutput(field) || PAGING.has(field.name)) return [];
    if (field.message?.typeName === "google.protobuf.FieldMask") return [];
    const names = [...place.names, field.name];
    const json = [...place.prefix, field.jsonName];
    const isNested = field.fieldKind === "message" && wellKnown[field.message.typeName] === undefined;
    if (isNested && place.depth < MAX_DEPTH && !(place.seen ?? []).includes(field.message.typeName)) {
      const seen = [...(place.seen ?? []), message.typeName, field.message.typeName];
      return fieldsOf(field.message, { ...place, prefix: json, names, depth: place.depth + 1, seen });
    }
    return [describeField(field, { ...place, names, json })];
  });
}

function describeField(field, { names, json, resource, comments, body, method }) {
  const type = typeOf(field);
  const kind = kindOf(field, names, resource, method);
  const isRequired = behaviorsOf(field).includes(FieldBehavior.REQUIRED) && (names.length === 1 || body === names[0]) && names.length <= 2;
  return {
    name: flagName(names, body),
    proto: names.join("."),
    field: json,
    type,
    ...(field.fieldKind === "list" && { repeated: true }),
    ...(isRequired && type !== "bool" && { required: true }),
    ...(kind && type === "string" && { kind }),
    ...(field.enum && { values: valuesOf(field.enum) }),
    ...(field.proto.options?.debugRedact && { secret: true }),
    help: firstSentence(commentOf(comments, field)),
  };
}

/** The flags of a body and of a filter by position have no prefix. */
function flagName(names, body) {
  const isPrefixed = names.length > 1 && names[0] !== body && names[0] !== "uidp";
  const shown = names.length > 1 && !isPrefixed ? names.slice(1) : names;
  return shown.map((name) => kebab(name.replaceAll("_", "-"))).join(".");
}

function typeOf(field) {
  if (field.fieldKind === "map") return field.mapKind === "scalar" && field.scalar === ScalarType.STRING ? "map" : "json";
  if (field.enum) return "enum";
  if (field.message) return wellKnown[field.message.typeName] ?? "json";
  if (field.scalar === ScalarType.BOOL) return "bool";
  if (field.scalar === ScalarType.BYTES) return "bytes";
  return field.scalar === ScalarType.STRING ? "string" : "number";
}

function kindOf(field, names, resource, method) {
  const isUid = field.name === "uid" || field.name === "id" || field.name === "ids";
  if (method.name === "LeaveRoleBinding") return undefined;
  if (isUid && (method.name === "ListVulnerabilityCounts" || method.name === "ListImageVulnerabilities")) return "repo";
  if (isUid) return field.name === "ids" ? undefined : kindOfUid[resource];
  if (resource === "tags" && field.name === "parent") return "repo";
  return kindOfField[names.at(-1)];
}

/** Flags take the end of a value's name: `images-pull` for RIGHT_IMAGES_PULL. Capabilities have names of their own. */
function valuesOf(desc) {
  const prefix = `${desc.name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toUpperCase()}_`;
  const shared = desc.values.every(({ name }) => name.startsWith(prefix)) ? prefix : sharedPrefix(desc.values.map(({ name }) => name));
  const isCapability = desc.typeName.endsWith(".Capability");
  return Object.fromEntries(
    desc.values
      .filter(({ number }) => number !== 0)
      .map((value) => {
        const short = value.name.slice(shared.length).toLowerCase().replaceAll("_", "-");
        return [isCapability ? getOption(value, capabilityNameOption) : short, value.name];
      }),
  );
}

function sharedPrefix(names) {
  const [first = ""] = names;
  const parts = first.split("_");
  for (let length = parts.length - 1; length > 0; length--) {
    const prefix = `${parts.slice(0, length).join("_")}_`;
    if (names.every((name) => name.startsWith(prefix))) return prefix;
  }
  return "";
}

function isOutput(field) {
  const behaviors = behaviorsOf(field);
  return behaviors.includes(FieldBehavior.OUTPUT_ONLY);
}

function behaviorsOf(field) {
  return hasOption(field, fieldBehavior) ? getOption(field, fieldBehavior) : [];
}

/** The field of the answer that holds the items of a list. */
function itemsOf(method) {
  if (!/^List|^BatchCreate/.test(method.name)) return undefined;
  const lists = method.output.fields.filter(({ fieldKind }) => fieldKind === "list");
  return lists.length === 1 ? lists[0] : undefined;
}

function isPaged(method) {
  const has = (message, name) => message.fields.some((field) => field.name === name);
  return has(method.input, "page_token") && has(method.output, "next_page_token");
}

/** Fields that tables show: the name first, then the uid, and then what has one line. */
function columnsOf(message) {
  const simple = message.fields.filter(
    (field) => field.fieldKind === "scalar" || field.fieldKind === "enum" || field.message?.typeName === "google.protobuf.Timestamp",
  );
  const rank = ({ name }) => (name === "name" ? 0 : name === "uid" || name === "id" ? 1 : 2);
  return simple
    .filter((field) => field.fieldKind !== "list" && field.scalar !== ScalarType.BYTES)
    .sort((a, b) => rank(a) - rank(b))
    .map((field) => field.jsonName);
}

function capabilitiesOf(method) {
  const rule = hasOption(method, iam) ? getOption(method, iam).mode : undefined;
  if (rule?.case !== "enabled") return [];
  return rule.value.capabilities.map(capabilityName);
}

function commentOf(comments, desc) {
  return comments.get(`${desc.parent.typeName}.${desc.name}`) ?? "";
}

function firstSentence(text) {
  return /^.*?\.(?= [A-Z"]|$)/s.exec(text)?.[0] ?? text;
}

function kebab(name) {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1-$2")
    .toLowerCase();
}

function capitalized(name) {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
