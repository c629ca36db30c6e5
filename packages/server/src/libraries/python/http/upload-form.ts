/** Reads the form of an upload while it comes: its one file goes on as a stream, its fields are few and small. */

import type { Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import type { HttpRequest } from "../../../http/http-exchange.ts";
import { Code, HoltError, invalidArgument } from "../../../lib/errors.ts";
import { LibraryRefusal } from "../../http/error.ts";
import type { Staged, Staging } from "../../stage.ts";

export interface UploadForm {
  /** Those that are of use here. */
  readonly fields: ReadonlyMap<string, string>;
  readonly fileName: string;
  /** To be discarded by who gets it. */
  readonly staged: Staged;
}

/** Others, like the description, are read over. */
const FIELDS: ReadonlySet<string> = new Set([":action", "name", "version", "sha256_digest", "md5_digest"]);
const CONTENT = "content";
const LIMITS = { fieldSize: 4096, parts: 20_000, headerPairs: 50, headerSize: 16 * 1024 };

/** @throws HoltError INVALID_ARGUMENT, or what staging throws; nothing stays staged then */
export async function receiveForm(
  request: HttpRequest,
  stage: (bytes: Readable, isWhole: () => boolean) => Promise<Staged>,
  staging: Pick<Staging, "discard">,
): Promise<UploadForm> {
  const form = new ArrivingForm(stage);
  const parser = createParser(request);
  try {
    await form.receive(request, parser);
    const [staged, fileName] = [await form.staged, form.fileName];
    if (staged === undefined || fileName === undefined) throw invalidArgument(CONTENT, "the form has no file");
    return { fields: form.fields, fileName, staged };
  } catch (error) {
    // What has come so far may be staged already.
    const staged = await form.staged?.catch(() => undefined);
    if (staged !== undefined) await staging.discard(staged, false);
    throw error;
  } finally {
    // What still comes is read over, so that the client gets to read the answer.
    request.unpipe(parser);
    request.resume();
  }
}

function createParser({ headers }: HttpRequest): BusboyInstance {
  const type = headers["content-type"] ?? "";
  if (!/^multipart\/form-data\s*;/i.test(type)) throw new LibraryRefusal(415, "an upload is a form: multipart/form-data");
  try {
    return new Busboy({ headers: { ...headers, "content-type": type } as BusboyHeaders, limits: LIMITS, preservePath: true, isPartAFile });
  } catch (error) {
    throw Object.assign(invalidArgument("content-type", "the form has no boundary"), { cause: error });
  }
}

/** Whatever a client calls its fields: their type is not asked. */
function isPartAFile(field: string | undefined, _type: string | undefined, fileName: string | undefined): boolean {
  return field === CONTENT || fileName !== undefined;
}

class ArrivingForm {
  readonly fields = new Map<string, string>();
  readonly #stage: (bytes: Readable, isWhole: () => boolean) => Promise<Staged>;
  staged: Promise<Staged> | undefined;
  fileName: string | undefined;
  #file: BusboyFileStream | undefined;

  constructor(stage: (bytes: Readable, isWhole: () => boolean) => Promise<Staged>) {
    this.#stage = stage;
  }

  /** Resolves at the form's end; rejects at the first thing that is wrong with it. */
  receive(request: HttpRequest, parser: BusboyInstance): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        this.#file?.destroy();
        reject(error);
      };
      const breakOff = (): void => fail(invalidArgument("", "the form broke off, or is none"));
      parser.on("field", (name, value, _isNameCut, isCut) => this.#takeField(name, value, isCut, fail));
      parser.on("file", (name, stream, fileName) => this.#takeFile(name, stream, fileName, fail));
      parser.once("partsLimit", () => fail(invalidArgument("", `the form has more than ${LIMITS.parts} fields`)));
      parser.once("finish", resolve);
      parser.on("error", breakOff);
      request.once("error", breakOff);
      request.once("close", () => {
        if (!request.readableEnded) fail(new HoltError(Code.CANCELLED, "the client left before its upload was complete"));
      });
      request.pipe(parser);
    });
  }

  #takeField(name: string, value: string, isCut: boolean, fail: (error: Error) => void): void {
    if (!FIELDS.has(name)) return;
    if (isCut || value.includes("\0")) fail(invalidArgument(name, `it is longer than ${LIMITS.fieldSize} bytes, or no text`));
    else if (this.fields.has(name)) fail(invalidArgument(name, "the form has it more than once"));
    else this.fields.set(name, value);
  }

  #takeFile(name: string, stream: BusboyFileStream, fileName: string | undefined, fail: (error: Error) => void): void {
    let isCut = false;
    stream.on("error", () => {
      isCut = true;
    });
    // A signature, for one.
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
}
