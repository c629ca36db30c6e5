/** Finds a library by its uid, by its name, or by the path of its group and its name. */
import type { Invocation } from "../command/invocation.ts";
import { exitStatus, Failure } from "../failure.ts";
import { isUid } from "../names/resolve.ts";
import { readAll } from "../operations/call-list.ts";
import type { Row } from "../output/output.ts";

export interface Library extends Row {
  readonly uid: string;
  readonly name: string;
  readonly ecosystem: string;
}

const ECOSYSTEMS: Readonly<Record<string, string>> = { java: "ECOSYSTEM_JAVA", python: "ECOSYSTEM_PYTHON" };
export const ecosystemNames = Object.keys(ECOSYSTEMS);

/** @param name undefined for all ecosystems */
export function ecosystemsFrom(name: string | undefined): string[] {
  return name === undefined ? Object.values(ECOSYSTEMS) : [ECOSYSTEMS[name] ?? name];
}

/** A uid is one segment of the path, with escaped slashes. */
export function pathOfVersions(uid: string): string {
  return `/libraries/v2/artifacts/${encodeURIComponent(uid)}/versions`;
}

/** @throws Failure if no library or several have the name */
export async function findLibrary(text: string, invocation: Invocation): Promise<Library> {
  const fitting = isUid(text) ? await findByUid(text, invocation) : await findByName(text, invocation);
  const [only, ...others] = fitting;
  if (only === undefined) {
    const advice = "see the libraries with: holt libraries ls";
    throw new Failure(`there is no library "${text}" that you can see`, { status: exitStatus.notFound, advice });
  }
  if (others.length === 0) return only;
  const candidates = fitting.map(({ uid, ecosystem }) => `\n      ${uid}  ${ecosystem.replace("ECOSYSTEM_", "").toLowerCase()}`);
  const advice = `give the uid of one of them, or the path of its group and its name:${candidates.join("")}`;
  throw new Failure(`"${text}" is the name of ${fitting.length} libraries`, { status: exitStatus.usage, advice });
}

/** The API has no call for one library, but the versions of a library contain its name. */
async function findByUid(uid: string, invocation: Invocation): Promise<Library[]> {
  const request = { method: "GET", path: pathOfVersions(uid), query: { page_size: "1" }, signal: invocation.signal };
  const { artifactVersions = [] } = (await invocation.session().rest.call(request)) as { artifactVersions?: { name: string }[] };
  const found = await listNamed(artifactVersions[0]?.name ?? "", invocation);
  return found.filter((library) => library.uid === uid);
}

async function findByName(text: string, invocation: Invocation): Promise<Library[]> {
  const slash = text.lastIndexOf("/");
  const found = await listNamed(text.slice(slash + 1), invocation);
  if (slash < 0) return found;
  const group = await invocation.uid("group", text.slice(0, slash));
  return found.filter(({ uid }) => uid.startsWith(`${group}/`));
}

async function listNamed(name: string, { session, signal, option }: Invocation): Promise<Library[]> {
  const query = { ecosystems: ecosystemsFrom(option("ecosystem")), query: name };
  const { rows } = await readAll(session().rest, { method: "GET", path: "/libraries/v2/artifacts", query }, "artifacts", signal);
  return (rows as Library[]).filter((library) => library.name === name);
}
