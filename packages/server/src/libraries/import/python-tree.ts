/** Wheels and source distributions wherever they lie: in one folder, or in one for each project as indexes have them. */
import { normalizeProject, parsePythonFileName } from "../python/python-name.ts";
import { readPythonPackage } from "../python/python-package.ts";
import type { TreeFormat } from "./tree-format.ts";

/** What Python packages are or once were; whatever else is beside them is none of ours. */
const PACKAGE = /\.(?:whl|egg|zip|exe|msi|rpm|deb|dmg|tgz|tbz|tar|tar\.(?:gz|bz2|xz|z|zst))$/i;

export function createPythonTree(remediatedLabels: readonly string[]): TreeFormat {
  return {
    async inspect(path) {
      const fileName = path.slice(path.lastIndexOf("/") + 1);
      if (!PACKAGE.test(fileName)) return undefined;
      const { project } = parsePythonFileName(fileName);
      return {
        key: normalizeProject(project),
        path: fileName,
        async verify() {},
        read: (staged, library, staging) => readPythonPackage(staged, fileName, library, staging, remediatedLabels),
      };
    },
  };
}
