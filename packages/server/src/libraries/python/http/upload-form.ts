/** Parses the form of an upload as it arrives: streams its one file to staging and keeps the few fields that matter. */
import type { Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import type { HttpRequest } from "../../../http/http-exchange.ts";
import { Code, HoltError, invalidArgument } from "../../../lib/errors.ts";
import { LibraryRefusal } from "../../http/error.ts";
import type { Staged, Staging } from "../../stage.ts";
import { MAX_ATTESTATIONS_BYTES } from "../attestation.ts";

export interface UploadForm {
  /** Only fields of `FIELDS`. */
  readonly fields: ReadonlyMap<string, string>;
  readonly fileName: string;
  /** The field of PEP 740, which is larger than all others. */
  readonly attestations: string | undefined;
  /** The caller discards it. */
  readonly staged: Staged;
}

/** Other fields, such as the description, are skipped. */
const FIELDS: ReadonlySet<string> = new Set([":action", "name", "version", "sha256_digest", "md5_digest"]);
const CONTENT = "content";
const ATTESTATIONS = "attestations";
const LIMITS = { fieldSize: 4096, parts: 1500, headerPairs: 50, headerSize: 16 * 1024 };

/** @throws HoltError INVALID_ARGUMENT, or an error of staging. Then nothing stays staged */
export async function receiveForm(
  request: HttpRequest,
  stage: (bytes: Readable, isComplete: () => boolean) => Promise<Staged>,
  staging: Pick<Staging, "discard">,
): Promise<UploadForm> {
  const form = new FormReceiver(stage);
  const parser = createParser(request);
  try {
    await form.receive(request, parser);
    const staged = await form.staged;
    const { fileName } = form;
    if (staged === undefined || fileName === undefined) throw invalidArgument(CONTENT, "the form has no file");
    return { fields: form.fields, fileName, attestations: form.attestations, staged };
  } catch (error) {
    // The file may be staged already.
    const staged = await form.staged?.catch(() => undefined);
    if (staged !== undefined) await staging.discard(staged, false);
    throw error;
  } finally {
    // The rest is read and discarded, so that the client gets to read the response.
    request.unpipe(parser);
    request.resume();
  }
}

function createParser({ headers }: HttpRequest): BusboyInstance {
  const type = headers["content-type"] ?? "";
  if (!/^multipart\/form-data\s*;/i.test(type)) throw new LibraryRefusal(415, "an upload must be multipart/form-data");
  try {
    return new Busboy({ headers: { ...headers, "content-type": type } as BusboyHeaders, limits: LIMITS, preservePath: true, isPartAFile });
  } catch (error) {
    throw Object.assign(invalidArgument("content-type", "the form has no boundary"), { cause: error });
  }
}

/** A part with a file name is a file, whatever its content type. Attestations are read as a file, with a limit of their own. */
function isPartAFile(field: string | undefined, _type: string | undefined, fileName: string | undefined): boolean {
  return field === CONTENT || field === ATTESTATIONS || fileName !== undefined;
}

class FormReceiver {
  readonly fields = new Map<string, string>();
  readonly #stage: (bytes: Readable, isComplete: () => boolean) => Promise<Staged>;
  staged: Promise<Staged> | undefined;
  fileName: string | undefined;
  attestations: string | undefined;
  #file: BusboyFileStream | undefined;

  constructor(stage: (bytes: Readable, isComplete: () => boolean) => Promise<Staged>) {
    this.#stage = stage;
  }

  /** Resolves at the end of the form; rejects at its first error. */
  receive(request: HttpRequest, parser: BusboyInstance): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        this.#file?.destroy();
        // The rest is received, for the response to be read, but not parsed.
        request.unpipe(parser).resume();
        reject(error);
      };
      const failMalformed = (): void => fail(invalidArgument("", "the form is cut off or malformed"));
      parser.on("field", (name, value, _isNameCut, isCut) => this.#addField(name, value, isCut, fail));
      parser.on("file", (name, stream, fileName) => this.#addFile(name, stream, fileName, fail));
      parser.once("partsLimit", () => fail(invalidArgument("", `the form has more than ${LIMITS.parts} fields`)));
      parser.once("finish", resolve);
      parser.on("error", failMalformed);
      request.once("error", failMalformed);
      request.once("close", () => {
        if (!request.readableEnded) fail(new HoltError(Code.CANCELLED, "the client disconnected before its upload was complete"));
      });
      request.pipe(parser);
    });
  }

  #addField(name: string, value: string, isCut: boolean, fail: (error: Error) => void): void {
    if (!FIELDS.has(name)) return;
    if (isCut || value.includes("\0")) fail(invalidArgument(name, `the field is longer than ${LIMITS.fieldSize} bytes or contains NUL`));
    else if (this.fields.has(name)) fail(invalidArgument(name, "the form has this field more than once"));
    else this.fields.set(name, value);
  }

  #addFile(name: string, stream: BusboyFileStream, fileName: string | undefined, fail: (error: Error) => void): void {
    if (name === ATTESTATIONS) {
      this.#addAttestations(stream, fail);
      return;
    }
    let isCut = false;
    stream.on("error", () => {
      isCut = true;
    });
    // Such as a signature.
    if (name !== CONTENT) return void stream.resume();
    if (this.staged !== undefined) {
      stream.resume();
      fail(invalidArgument(CONTENT, "the form has more than one file"));
      return;
    }
    this.fileName = fileName ?? "";
    this.#file = stream;
    this.staged = this.#stage(stream, () => !isCut && !stream.truncated && stream.readableEnded);
    this.staged.catch(fail);
  }

  #addAttestations(stream: BusboyFileStream, fail: (error: Error) => void): void {
    const chunks: Buffer[] = [];
    let size = 0;
    const isRepeated = this.attestations !== undefined;
    this.attestations = "";
    // The form is cut off, which the parser reports.
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_ATTESTATIONS_BYTES) chunks.push(chunk);
    });
    stream.once("end", () => {
      this.attestations = Buffer.concat(chunks).toString("utf8");
      if (isRepeated) fail(invalidArgument(ATTESTATIONS, "the form has this field more than once"));
      else if (size > MAX_ATTESTATIONS_BYTES)
        fail(invalidArgument(ATTESTATIONS, `the field is larger than ${MAX_ATTESTATIONS_BYTES} bytes`));
    });
  }
}
