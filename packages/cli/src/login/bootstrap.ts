/** Signs in as the bootstrap owner on the server's own machine: `holtd token`, to which access to the data is proof enough. */
import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { Failure } from "../failure.ts";

export function ownerToken(dataDir: string, url: string): Promise<string> {
  // Settings in the environment and in its file are those of the server, and win over the address by which the caller reaches it.
  const address = process.env.HOLT_CONFIG === undefined ? { HOLT_BASE_URL: url } : {};
  const env = { ...address, ...process.env, HOLT_DATA_DIR: resolve(dataDir) };
  const [program, ...args] = programOfServer();
  return new Promise((fulfil, reject) => {
    execFile(program, [...args, "token"], { env }, (error, stdout, stderr) => {
      const token = stdout.trim();
      if (error === null && token !== "") return fulfil(token);
      const isMissing = (error as NodeJS.ErrnoException | null)?.code === "ENOENT";
      const reason = isMissing ? "the program holtd was not found" : stderr.trim().replace(/^holtd: /, "");
      const advice = "run it on the server's machine, as a user who may read the data folder; --data-dir names the folder";
      reject(new Failure(`cannot sign in as the bootstrap owner: ${reason}`, { advice, cause: error }));
    });
  });
}

/** This program if it contains the server, or the server's package beside this one, as in a checkout; else a program on the path. */
function programOfServer(): readonly [string, ...string[]] {
  if ("holtExecutable" in globalThis) return [process.execPath];
  const built = join(dirname(realpathSync(process.argv[1] ?? ".")), "holtd");
  if (existsSync(built)) return [process.execPath, built];
  try {
    const manifest = createRequire(import.meta.url).resolve("@holt/server/package.json");
    return [process.execPath, join(dirname(manifest), "bin/holtd.js")];
  } catch {
    return ["holtd"];
  }
}
