/** Runs versitygw, a real S3 service whose buckets are folders. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import type { S3Location } from "../../../src/blobs/s3/s3-location.ts";
import { freePort } from "../free-port.ts";
import { startProgram } from "../holtd.ts";
import { until } from "../wait.ts";
import { S3_BUCKET, S3_CREDENTIALS } from "./s3-server.ts";

export interface Versitygw extends AsyncDisposable {
  readonly location: S3Location;
  /** Keys of all objects and multipart uploads below a prefix. */
  keysBelow(prefix: string): Promise<readonly string[]>;
}

/** @param program path of its executable */
export async function startVersitygw(program: string): Promise<Versitygw> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "holt-versitygw-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const data = join(folder, "data");
  const sidecar = join(folder, "sidecar");
  for (const path of [join(data, S3_BUCKET), sidecar]) await mkdir(path, { recursive: true });
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const credentials = { ROOT_ACCESS_KEY: S3_CREDENTIALS.accessKeyId, ROOT_SECRET_KEY: S3_CREDENTIALS.secretAccessKey };
  // The folder for metadata does not need a file system with extended attributes.
  const args = ["--port", `127.0.0.1:${port}`, "--quiet", "--keep-alive", "posix", "--sidecar", sidecar, data];
  const server = stack.use(startProgram(program, args, credentials));
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials: S3_CREDENTIALS });
  stack.defer(() => client.destroy());
  let ended: string | undefined;
  void server.ended.then(({ stderr, stdout }) => {
    ended = stdout + stderr;
  });
  await until(async () => {
    if (ended !== undefined) throw new Error(`versitygw ended: ${ended}`);
    return fetch(endpoint).then(
      () => true,
      () => false,
    );
  });
  const owned = stack.move();
  return {
    location: { bucket: S3_BUCKET, prefix: "holt/", endpoint, region: "us-east-1", pathStyle: true },
    async keysBelow(Prefix) {
      const objects = await client.send(new ListObjectsV2Command({ Bucket: S3_BUCKET, Prefix }));
      const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket: S3_BUCKET, Prefix }));
      return [...(objects.Contents ?? []), ...(uploads.Uploads ?? [])].map(({ Key = "" }) => Key);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
