/** Names of Python projects and of the files that they publish (PEP 503, 427, 625). Pure. */
import { invalidArgument } from "../../lib/errors.ts";
import { type PythonVersion, parsePythonVersion } from "../../lib/version-order/python.ts";

/** PEP 508, "Names". */
const NAME = /^[A-Z0-9](?:[A-Z0-9._-]*[A-Z0-9])?$/i;
const MAX_NAME = 200;
const FILE_NAME = /^[A-Z0-9][A-Z0-9._+!-]*$/i;
const MAX_FILE_NAME = 255;
/** PEP 425: tags of one kind, joined with dots. */
const TAGS = /^[A-Z0-9_]+(?:\.[A-Z0-9_]+)*$/i;
/** PEP 427: it must start with a digit. */
const BUILD = /^\d[A-Z0-9_.]*$/i;

export interface PythonFileName {
  /** As the file name spells it. */
  readonly project: string;
  readonly version: PythonVersion;
  /** Of wheels, which have them: `py2.py3-none-any`. */
  readonly tags?: string;
}

export function isProjectName(text: string): boolean {
  return text.length <= MAX_NAME && NAME.test(text);
}

/** PEP 503: by this, names are the same. */
export function normalizeProject(name: string): string {
  return name.replace(/[-_.]+/g, "-").toLowerCase();
}

/** @throws INVALID_ARGUMENT that says what is wrong with it */
export function parsePythonFileName(fileName: string): PythonFileName {
  if (fileName.length > MAX_FILE_NAME || !FILE_NAME.test(fileName))
    throw refused("the file's name must be letters, digits and . _ - + !, at most 255 of them");
  if (fileName.endsWith(".whl")) return wheelFrom(fileName.slice(0, -".whl".length));
  if (fileName.endsWith(".tar.gz")) return sdistFrom(fileName.slice(0, -".tar.gz".length));
  throw refused("only wheels (.whl) and source distributions (.tar.gz) are taken");
}

/** `{name}-{version}(-{build})?-{python}-{abi}-{platform}` */
function wheelFrom(stem: string): PythonFileName {
  const parts = stem.split("-");
  const [project = "", version = "", ...rest] = parts;
  const tags = rest.slice(-3);
  const build = rest.length === 4 ? rest[0] : undefined;
  if (tags.length !== 3 || rest.length > 4 || !tags.every((tag) => TAGS.test(tag)) || (build !== undefined && !BUILD.test(build)))
    throw refused("a wheel's name must be name-version-python-abi-platform.whl, with an optional build number before python");
  return { ...named(project, version), tags: tags.join("-") };
}

/** `{name}-{version}`; older tools leave hyphens in the name. */
function sdistFrom(stem: string): PythonFileName {
  const hyphen = stem.lastIndexOf("-");
  if (hyphen < 0) throw refused("a source distribution's name must be name-version.tar.gz");
  return named(stem.slice(0, hyphen), stem.slice(hyphen + 1));
}

function named(project: string, text: string): PythonFileName {
  // Wheels write what separates parts of a local label as an underscore, which PEP 440 reads as the same.
  const version = parsePythonVersion(text);
  if (!isProjectName(project)) throw refused(`the file's name begins with "${project.slice(0, 100)}", which is no project's name`);
  if (version === undefined) throw refused(`the file's name has "${text.slice(0, 100)}" for a version, which PEP 440 does not know`);
  return { project, version };
}

function refused(description: string): Error {
  return invalidArgument("content", description);
}
