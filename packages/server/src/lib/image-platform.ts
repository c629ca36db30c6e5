/** The names of the platforms of images, and how many images of an index one answer covers. Pure. */
import { failedPrecondition } from "./errors.ts";

export const MAX_IMAGES_OF_INDEX = 100;

export interface ImagePlatform {
  readonly os: string;
  readonly architecture: string;
  readonly variant: string;
}

/** Such as `linux/arm/v7`; empty if the image's config does not say. */
export function platformName({ os, architecture, variant }: ImagePlatform): string {
  return [os, architecture, variant].filter((part) => part !== "").join("/");
}

/** @throws FAILED_PRECONDITION above the limit */
export function assertFewImages(images: readonly unknown[]): void {
  if (images.length > MAX_IMAGES_OF_INDEX)
    throw failedPrecondition("TOO_MANY_IMAGES", `the index has more than ${MAX_IMAGES_OF_INDEX} images; request each by its own digest`);
}
