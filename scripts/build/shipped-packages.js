// Lists the packages that a build contains: those of the lock file that are not for development alone.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.js";

/** Place in the repository, name and version of each package, sorted by place. */
export function shippedPackages() {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return Object.entries(packages)
    .filter(([place, entry]) => place.includes("node_modules/") && isShipped(entry))
    .map(([place, { version, name }]) => ({ place, version, name: name ?? place.split("node_modules/").at(-1) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1));
}

function isShipped({ dev, devOptional, optional, link }) {
  return !dev && !devOptional && !optional && !link;
}
