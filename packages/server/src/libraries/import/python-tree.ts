/** Wheels and source distributions in any folder of a tree. */
import { normalizeProject, parsePythonFileName } from "../python/python-name.ts";
import { readPythonPackage } from "../python/python-package.ts";
import type { TreeFormat } from "./tree-format.ts";

/** Extensions of current and former formats of Python packages. Other files are skipped. */
const PACKAGE_EXTENSION = /\.(?:whl|egg|zip|exe|msi|rpm|deb|dmg|tgz|tbz|tar|tar\.(?:gz|bz2|xz|z|zst))$/i;

export function createPythonTree(remediatedLabels: readonly string[]): TreeFormat {
  return {
    async inspect(path) {
      const fileName = path.slice(path.lastIndexOf("/") + 1);
      if (!PACKAGE_EXTENSION.test(fileName)) return undefined;
      const { project } = parsePythonFileName(fileName);
      return {
        key: normalizeProject(project),
        path: fileName,
        async verify() {},
        read: (staged, context) => readPythonPackage(staged, fileName, { ...context, remediatedLabels }),
      };
    },
  };
}
