/** holt images referrers: the signatures, SBOMs and attestations of an image. */
import type { Verb } from "../command/verb.ts";
import { findImage, IMAGE_HELP, pathOfImage } from "../images/image-reference.ts";
import { listOptions, showList } from "../operations/call-list.ts";
import type { Row } from "../output/output.ts";

interface Signature {
  readonly state?: string;
  readonly signatureKeyName?: string;
  readonly signatureIdentityName?: string;
}

const columns = [
  "digest",
  "artifactType",
  {
    title: "STATE",
    value: ({ state }: Row) =>
      String(state ?? "")
        .replace("SIGNATURE_STATE_", "")
        .toLowerCase(),
  },
  { title: "SIGNED BY", value: signersOf },
  "createTime",
  "size",
  "mediaType",
];

export const verb: Verb = {
  path: "images referrers",
  summary: "List the signatures, SBOMs and attestations of an image, and which of them are verified.",
  examples: ["holt images referrers my-org/team-a/app:1.0"],
  arguments: [{ name: "image", kind: "repo", help: IMAGE_HELP }],
  options: listOptions,
  async run(invocation) {
    const path = `${pathOfImage(await findImage(invocation.argument("image"), invocation))}/referrers`;
    const view = { columns, narrow: 5, name: ({ digest }: Row) => String(digest) };
    await showList({ request: { method: "GET", path }, items: "referrers", view }, invocation);
  },
};

/** The keys and identities that verified a signature. */
function signersOf({ signatures }: Row): string[] {
  const names = ((signatures as Signature[] | undefined) ?? []).map((one) => one.signatureKeyName || one.signatureIdentityName || "");
  return [...new Set(names)].filter((name) => name !== "");
}
