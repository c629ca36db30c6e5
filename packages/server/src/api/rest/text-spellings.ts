/** Text forms of messages in a query, since a query has no other form for lists of messages. */
import { create, type DescMessage, type JsonObject, type Message } from "@bufbuild/protobuf";
import { ResolvedVulnsReportFilter_ImageRefSchema } from "@holt/api/gen/platform/advisory/v1/security_advisories_pb.ts";
import { ImageRefSchema } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { JsonFieldError } from "../../lib/json-field-error.ts";

export interface TextSpelling {
  /** @throws JsonFieldError without a path */
  parse(text: string): Message;
  /** JSON Schema of the text. */
  readonly schema: JsonObject;
}

/** By the full name of the message. */
export const textSpellings: ReadonlyMap<string, TextSpelling> = new Map(
  [ImageRefSchema, ResolvedVulnsReportFilter_ImageRefSchema].map((schema) => [schema.typeName, imageRef(schema)]),
);

/** `<repo>[:<tag>[,<tag>…]]`. A repo may have a host with a port in front, but no colon after its last slash. */
function imageRef(message: DescMessage): TextSpelling {
  return {
    parse(text) {
      const colon = text.lastIndexOf(":");
      const hasTags = colon > text.lastIndexOf("/");
      const repo = hasTags ? text.slice(0, colon) : text;
      const tags = hasTags ? text.slice(colon + 1).split(",") : [];
      if (repo === "" || repo.endsWith("/") || tags.includes(""))
        throw new JsonFieldError("", "must be a repo, or a repo and its tags such as repo:tag or repo:tag,tag");
      return create(message, { repo, tags } as Record<string, unknown>);
    },
    schema: {
      type: "string",
      description: "A repo, or a repo and its tags: `repo`, `repo:tag`, `repo:tag,tag`.",
      examples: ["nginx:latest,1.27"],
    },
  };
}
