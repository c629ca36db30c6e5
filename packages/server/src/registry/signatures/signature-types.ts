/** The media types of layers that hold signatures. */

export const SIMPLE_SIGNATURE = "application/vnd.dev.cosign.simplesigning.v1+json";
const ENVELOPE = "application/vnd.dsse.envelope.v1+json";
const BUNDLE = /^application\/vnd\.dev\.sigstore\.bundle(?:\.v[\d.]+\+json|\+json;version=[\d.]+)$/;

export function isSignatureType(mediaType: string): boolean {
  return mediaType === SIMPLE_SIGNATURE || mediaType === ENVELOPE || isBundleType(mediaType);
}

export function isBundleType(mediaType: string): boolean {
  return BUNDLE.test(mediaType);
}
