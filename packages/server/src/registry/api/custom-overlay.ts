/** The rules of a custom overlay. */
import { createPublicKey } from "node:crypto";
import type { CustomOverlay } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import { violationUnless } from "./fields.ts";

const MAX_KEYS = 64;
/** Characters. A key of 16,384 bits has 3,000. */
const MAX_KEY_LENGTH = 8192;
/** Name of a file in the image: no folder, not hidden, and without characters that a shell or an option parser interprets. */
const FILE_NAME = /^[a-zA-Z0-9_@+][a-zA-Z0-9._@+-]{0,254}$/;

export function overlayViolations(
  { contents, environment, annotations, accounts, certificates }: CustomOverlay,
  { environmentPrefix, eventPrefix }: VendorProfile,
): FieldViolation[] {
  const keys = contents?.runtimeKeyring ?? [];
  return [
    ...reserved("custom_overlay.environment", environment, [environmentPrefix]),
    ...reserved("custom_overlay.annotations", annotations, [`${eventPrefix}.`, "org.opencontainers."]),
    ...violationUnless(
      keys.length <= MAX_KEYS,
      "custom_overlay.contents.runtime_keyring",
      `runtime_keyring must have at most ${MAX_KEYS} keys`,
    ),
    ...keys.slice(0, MAX_KEYS).flatMap(({ name, content }, index) => {
      const field = `custom_overlay.contents.runtime_keyring[${index}]`;
      return [
        ...violationUnless(FILE_NAME.test(name), `${field}.name`, "name must be a file name that does not start with a dot"),
        ...violationUnless(isRsaPublicKey(content), `${field}.content`, "content must be an RSA public key in PEM form"),
      ];
    }),
    ...(accounts?.users ?? []).flatMap(({ username, uid, gid }, index) => [
      ...required(`custom_overlay.accounts.users[${index}].username`, username),
      ...accountId(`custom_overlay.accounts.users[${index}].uid`, uid),
      ...accountId(`custom_overlay.accounts.users[${index}].gid`, gid),
    ]),
    ...(accounts?.groups ?? []).flatMap(({ groupname, gid }, index) => [
      ...required(`custom_overlay.accounts.groups[${index}].groupname`, groupname),
      ...accountId(`custom_overlay.accounts.groups[${index}].gid`, gid),
    ]),
    ...(certificates?.additional ?? []).flatMap(({ name, content }, index) => [
      ...required(`custom_overlay.certificates.additional[${index}].name`, name),
      ...required(`custom_overlay.certificates.additional[${index}].content`, content),
    ]),
  ];
}

function reserved(field: string, map: Readonly<Record<string, string>>, prefixes: readonly string[]): FieldViolation[] {
  return Object.keys(map).flatMap((key) =>
    prefixes
      .filter((prefix) => key.startsWith(prefix))
      .map((prefix) => ({ field, description: `"${key.slice(0, 200)}" is reserved: keys must not start with ${prefix}` })),
  );
}

/** Node would also accept a private key or a certificate and derive a public key from it. */
function isRsaPublicKey(pem: string): boolean {
  if (pem.length > MAX_KEY_LENGTH || !/^\s*-----BEGIN (?:RSA )?PUBLIC KEY-----/.test(pem)) return false;
  try {
    return createPublicKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}

function required(field: string, value: string): FieldViolation[] {
  return violationUnless(value !== "", field, `${lastOf(field)} is required`);
}

/** Version 1 has no sign in ids of users and groups. */
function accountId(field: string, id: number): FieldViolation[] {
  return violationUnless(id >= 0, field, `${lastOf(field)} must be from 0 to ${2 ** 31 - 1}`);
}

function lastOf(field: string): string {
  return field.slice(field.lastIndexOf(".") + 1);
}
