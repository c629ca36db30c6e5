/** The address of an operation over REST, from its annotation in the contract. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { http } from "@holt/api/gen/google/api/annotations_pb.ts";

/**
 * @param uid takes the place of the variable for the uid, which is the first one in the path
 * @param digest takes the place of the variable `digest`, if the path has one
 */
export function restCall(method: DescMethod, uid: string, digest = ""): { readonly verb: string; readonly path: string } {
  const { case: verb, value } = getOption(method, http).pattern;
  const template = typeof value === "string" ? value : "";
  return { verb: (verb ?? "get").toUpperCase(), path: template.replace("{digest}", digest).replace(/\{[^}]*\}/, uid) };
}
