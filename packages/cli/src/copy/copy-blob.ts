/** Copies a blob, unless the target has it or can take it from the source repository. */
import type { Copied, CopyRequest } from "./copy-request.ts";
import { cancelUpload, type Descriptor, hasBlob, mountBlob, readBlob, uploadBlob } from "./repository.ts";

type BlobRequest = Pick<CopyRequest, "source" | "target" | "onBytes">;

export async function copyBlob(blob: Descriptor, request: BlobRequest, copied: Copied): Promise<void> {
  const { source, target } = request;
  if (await hasBlob(target, blob.digest)) {
    copied.present++;
    return;
  }
  const isSameRegistry = source.registry.origin === target.registry.origin;
  const location = await mountBlob(target, blob.digest, isSameRegistry ? source.name : undefined);
  if (location === undefined) {
    copied.mounted++;
    return;
  }
  try {
    const body = (await readBlob(source, blob)).pipeThrough(countBytes(request, copied));
    await uploadBlob(target, location, { digest: blob.digest, body });
  } catch (error) {
    await cancelUpload(target, location);
    throw error;
  }
  copied.uploaded++;
}

function countBytes({ onBytes }: BlobRequest, copied: Copied): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  return new TransformStream({
    transform(chunk, controller) {
      copied.bytes += chunk.length;
      onBytes(chunk.length);
      controller.enqueue(chunk);
    },
  });
}
