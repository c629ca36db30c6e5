/** Finds out for which version of CUDA a package is built. Pure. */
import type { CoreMetadata } from "./core-metadata.ts";

/** The CUDA version of a local version such as `+cu121`, or else of the most precise classifier. */
export function cudaVersionOf({ version, classifiers }: Pick<CoreMetadata, "version" | "classifiers">): string | undefined {
  for (const segment of version.local) {
    const digits = /^cu(\d{2,4})$/.exec(segment)?.[1];
    if (digits !== undefined) return cudaVersionFrom(digits);
  }
  const versions = classifiers
    .filter((classifier) => classifier.startsWith(CUDA_CLASSIFIER))
    .map((classifier) => classifier.split("::").at(-1)?.trim() ?? "")
    .filter((text) => /^\d{1,3}(\.\d{1,3})*$/.test(text));
  return versions.sort((one, other) => other.split(".").length - one.split(".").length || numeric.compare(other, one))[0];
}

const CUDA_CLASSIFIER = "Environment :: GPU :: NVIDIA CUDA ::";
const numeric = new Intl.Collator("en", { numeric: true });

/** `121` is 12.1 and `92` is 9.2, but `12` is any 12.x: no package was ever built for CUDA 1.2. */
function cudaVersionFrom(digits: string): string {
  if (digits.length === 2 && digits.startsWith("1")) return digits;
  const major = digits.length === 2 ? 1 : 2;
  return `${digits.slice(0, major)}.${digits.slice(major)}`;
}
