/** Names of Python projects and of their files (PEP 503, 427, 625). Pure. */
import { invalidArgument } from "../../lib/errors.ts";
import { type PythonVersion, parsePythonVersion } from "../../lib/version-order/python.ts";

/** PEP 508, "Names". */
const NAME = /^[A-Z0-9](?:[A-Z0-9._-]*[A-Z0-9])?$/i;
const MAX_NAME = 200;
const FILE_NAME = /^[A-Z0-9][A-Z0-9._+!-]*$/i;
const MAX_FILE_NAME = 255;
/** PEP 425: alternative tags, joined with dots. */
const TAGS = /^[A-Z0-9_]+(?:\.[A-Z0-9_]+)*$/i;
/** PEP 427: a build tag starts with a digit. */
const BUILD = /^\d[A-Z0-9_.]*$/i;

export interface PythonFileName {
  /** In the spelling of the file name. */
  readonly project: string;
  readonly version: PythonVersion;
  /** Only of wheels, such as `py2.py3-none-any`. */
  readonly tags?: string;
}

export function isProjectName(text: string): boolean {
  return text.length <= MAX_NAME && NAME.test(text);
}

/** PEP 503: two names are the same if their normalized forms are equal. */
export function normalizeProject(name: string): string {
  return name.replace(/[-_.]+/g, "-").toLowerCase();
}

/** @throws INVALID_ARGUMENT that says what is wrong with the name */
export function parsePythonFileName(fileName: string): PythonFileName {
  if (fileName.length > MAX_FILE_NAME || !FILE_NAME.test(fileName))
    throw refusal("a file name has at most 255 letters, digits or the characters . _ - + !");
  if (fileName.endsWith(".whl")) return wheelFrom(fileName.slice(0, -".whl".length));
  if (fileName.endsWith(".tar.gz")) return sdistFrom(fileName.slice(0, -".tar.gz".length));
  throw refusal("only wheels (.whl) and source distributions (.tar.gz) are accepted");
}

/** `{name}-{version}(-{build})?-{python}-{abi}-{platform}` */
function wheelFrom(stem: string): PythonFileName {
  const parts = stem.split("-");
  const [project = "", version = "", ...rest] = parts;
  const tags = rest.slice(-3);
  const build = rest.length === 4 ? rest[0] : undefined;
  if (tags.length !== 3 || rest.length > 4 || !tags.every((tag) => TAGS.test(tag)) || (build !== undefined && !BUILD.test(build)))
    throw refusal("the name of a wheel must be name-version-python-abi-platform.whl, with an optional build tag before python");
  return { ...parseNames(project, version), tags: tags.join("-") };
}

/** `{name}-{version}`. Older tools leave hyphens in the name. */
function sdistFrom(stem: string): PythonFileName {
  const hyphen = stem.lastIndexOf("-");
  if (hyphen < 0) throw refusal("the name of a source distribution must be name-version.tar.gz");
  return parseNames(stem.slice(0, hyphen), stem.slice(hyphen + 1));
}

function parseNames(project: string, text: string): PythonFileName {
  // Wheels separate the parts of a local version with underscores, which PEP 440 treats like dots.
  const version = parsePythonVersion(text);
  if (!isProjectName(project)) throw refusal(`the file name begins with "${project.slice(0, 100)}", which is not a valid project name`);
  if (version === undefined) throw refusal(`the file name has the version "${text.slice(0, 100)}", which is not a PEP 440 version`);
  return { project, version };
}

function refusal(reason: string): Error {
  return invalidArgument("content", reason);
}
