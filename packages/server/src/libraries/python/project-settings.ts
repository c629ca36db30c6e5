/** The settings of a Python project: its status (PEP 792) and its pages in other repositories (PEP 708). */
import { PythonProject_Status as Status } from "@holt/api/gen/holt/v1/python_projects_pb.ts";
import { failedPrecondition } from "../../lib/errors.ts";

/** The columns of `library_artifact` that hold the settings. */
export const SETTINGS_COLUMNS = ["status", "status_reason", "tracks", "alternate_locations"] as const;

export interface StoredStatus {
  /** The number of a `Status`. */
  readonly status: number;
  readonly status_reason: string;
}

export interface StoredSettings extends StoredStatus {
  /** A JSON array of URLs, as is `alternate_locations`. */
  readonly tracks: string;
  readonly alternate_locations: string;
}

/** The names of PEP 792. */
const NAMES: Readonly<Record<number, string>> = {
  [Status.ACTIVE]: "active",
  [Status.ARCHIVED]: "archived",
  [Status.QUARANTINED]: "quarantined",
  [Status.DEPRECATED]: "deprecated",
};

export function statusName({ status }: StoredStatus): string {
  return NAMES[status] ?? "active";
}

export function isQuarantined({ status }: StoredStatus): boolean {
  return status === Status.QUARANTINED;
}

/** @throws FAILED_PRECONDITION for a project that takes no new files */
export function assertAcceptsFiles(name: string, project: StoredStatus): void {
  if (project.status === Status.ARCHIVED || isQuarantined(project)) throw refusal(name, project, "accepts no new files");
}

/** @throws FAILED_PRECONDITION for a project that offers no files */
export function assertOffersFiles(name: string, project: StoredStatus): void {
  if (isQuarantined(project)) throw refusal(name, project, "offers no files");
}

/** A publisher must not end a quarantine by publishing the project anew. @throws FAILED_PRECONDITION */
export function assertMayDisappear(name: string, project: StoredStatus): void {
  if (isQuarantined(project)) throw refusal(name, project, "keeps its last file until the quarantine is lifted");
}

function refusal(name: string, project: StoredStatus, effect: string): Error {
  const reason = project.status_reason === "" ? "" : ` (${project.status_reason})`;
  return failedPrecondition("PROJECT_STATUS", `the project ${name} is ${statusName(project)}${reason} and ${effect}`);
}
