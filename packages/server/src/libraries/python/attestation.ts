/**
 * Parses and checks the attestations that an upload brings (PEP 740): their form, that they are about the uploaded file, and their
 * signature by the key in their certificate. It does not check the certificate's issuer: clients decide whom they trust. Pure.
 */
import { type KeyObject, verify, X509Certificate } from "node:crypto";
import { invalidArgument } from "../../lib/errors.ts";
import { isRecord } from "../../lib/is-record.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import { normalizeProject, parsePythonFileName } from "./python-name.ts";

/** Bytes of the field; an attestation has about 5 KB. */
export const MAX_ATTESTATIONS_BYTES = 128 * 1024;
/** Attestations of one upload. */
const MAX_ATTESTATIONS = 10;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
export const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const PREDICATE_TYPES: readonly unknown[] = ["https://slsa.dev/provenance/v1", "https://docs.pypi.org/attestations/publish/v1"];

/** The file that attestations must be about. */
export interface AttestedFile {
  readonly fileName: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** @returns the attestations as JSON texts. @throws INVALID_ARGUMENT that says what is wrong with which attestation */
export function parseAttestations(text: string, file: AttestedFile): readonly string[] {
  const list = parseJson(text, "the field");
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_ATTESTATIONS)
    throw refusal(`the field must be a JSON array of 1 to ${MAX_ATTESTATIONS} attestations`);
  return list.map((attestation: unknown, index) => {
    assertAttestation(attestation, `attestation ${index + 1}`, file);
    return JSON.stringify(attestation);
  });
}

function assertAttestation(value: unknown, what: string, file: AttestedFile): void {
  const attestation = recordOf(value, what);
  if (attestation.version !== 1) throw refusal(`${what} must have version 1`);
  const material = recordOf(attestation.verification_material, `verification_material of ${what}`);
  const entries = material.transparency_entries;
  if (!Array.isArray(entries) || entries.length === 0 || !entries.every(isRecord))
    throw refusal(`${what} must have transparency_entries, a list of objects`);
  const envelope = recordOf(attestation.envelope, `envelope of ${what}`);
  const statement = bytesOf(envelope.statement, `envelope.statement of ${what}`);
  const signature = bytesOf(envelope.signature, `envelope.signature of ${what}`);
  const key = keyOf(bytesOf(material.certificate, `verification_material.certificate of ${what}`), what);
  assertStatement(statement, what, file);
  if (!verify("sha256", signedBytes(statement), key, signature))
    throw refusal(`the signature of ${what} was not made with the key of its certificate`);
}

/** Version 1 of attestations allows one kind of key. */
function keyOf(der: Buffer, what: string): KeyObject {
  let key: KeyObject;
  try {
    key = new X509Certificate(der).publicKey;
  } catch (error) {
    throw Object.assign(refusal(`${what} has no valid certificate`), { cause: error });
  }
  if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "prime256v1")
    throw refusal(`the certificate of ${what} must have a key of the curve P-256`);
  return key;
}

/** The pre-authentication encoding of DSSE, version 1. */
function signedBytes(statement: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${statement.length} `), statement]);
}

function assertStatement(bytes: Buffer, what: string, { fileName, sha256 }: AttestedFile): void {
  const statement = recordOf(parseJson(bytes.toString("utf8"), `the statement of ${what}`), `the statement of ${what}`);
  if (statement._type !== STATEMENT_TYPE) throw refusal(`the statement of ${what} must be of type ${STATEMENT_TYPE}`);
  if (!PREDICATE_TYPES.includes(statement.predicateType))
    throw refusal(`the statement of ${what} must have one of the predicate types ${PREDICATE_TYPES.join(", ")}`);
  const { subject } = statement;
  if (!Array.isArray(subject) || subject.length !== 1) throw refusal(`the statement of ${what} must have one subject`);
  const { name, digest } = recordOf(subject[0], `the subject of ${what}`);
  if (typeof name !== "string" || !isSameFile(name, fileName)) throw refusal(`${what} is about another file than ${fileName}`);
  if (recordOf(digest, `the digest of ${what}`).sha256 !== sha256) throw refusal(`${what} is about other bytes than those of ${fileName}`);
}

/** PEP 740: the subject may spell the name and the version in another way. */
function isSameFile(name: string, fileName: string): boolean {
  try {
    const one = parsePythonFileName(name);
    const other = parsePythonFileName(fileName);
    return (
      normalizeProject(one.project) === normalizeProject(other.project) &&
      one.version.sortKey === other.version.sortKey &&
      wheelTagsOf(name) === wheelTagsOf(fileName)
    );
  } catch {
    return false;
  }
}

/** The build tag and the tags of a wheel; empty for a source distribution. */
function wheelTagsOf(fileName: string): string {
  return fileName.endsWith(".whl") ? fileName.split("-").slice(2).join("-").toLowerCase() : "";
}

function parseJson(text: string, what: string): unknown {
  try {
    return parseStrictJson(text);
  } catch (error) {
    throw Object.assign(refusal(`${what} is not JSON, has the same name twice or is nested too deep`), { cause: error });
  }
}

function bytesOf(value: unknown, what: string): Buffer {
  if (typeof value !== "string" || value === "" || !BASE64.test(value)) throw refusal(`${what} must be base64`);
  return Buffer.from(value, "base64");
}

function recordOf(value: unknown, what: string): Record<string, unknown> {
  if (!isRecord(value)) throw refusal(`${what} must be a JSON object`);
  return value;
}

function refusal(reason: string): Error {
  return invalidArgument("attestations", reason);
}
