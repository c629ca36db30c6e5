/** `holtd doctor`: checks the machine, the database and the connection to the server. It changes nothing. */
import type { Config } from "../../config.ts";
import { checkCertificate } from "./check-certificate.ts";
import { checkConnectivity } from "./check-connectivity.ts";
import { checkDatabase } from "./check-database.ts";
import { checkDisk, checkPermissions } from "./check-machine.ts";
import { checkNames } from "./check-names.ts";
import { checkWalArchive } from "./check-wal-archive.ts";
import type { Problem } from "./problem.ts";

const CHECKS = [checkDisk, checkPermissions, checkDatabase, checkWalArchive, checkCertificate, checkNames, checkConnectivity];

/** Prints one line per problem, with its remedy. @returns the exit status: 1 if there are problems */
export async function runDoctor(config: Config): Promise<number> {
  const problems = await findProblems(config);
  for (const { check, problem, remedy } of problems) console.log(`${check}: ${oneLine(problem)}. Remedy: ${oneLine(remedy)}.`);
  if (problems.length === 0)
    console.log("No problems found: clock, disk, permissions, database, archive, certificate, DNS, base URL and proxy.");
  return problems.length === 0 ? 0 : 1;
}

export async function findProblems(config: Config): Promise<readonly Problem[]> {
  return (await Promise.all(CHECKS.map((check) => check(config)))).flat();
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
