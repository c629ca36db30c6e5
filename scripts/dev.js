// Runs the server and the console for development. The server restarts when a file of it changes; the console reloads in the browser.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const vite = join(dirname(createRequire(join(root, "packages/console/build.js")).resolve("vite/package.json")), "bin/vite.js");
const processes = [
  spawn(process.execPath, ["--watch", "--max-semi-space-size=8", "--heap-growing-percent=75", join(root, "packages/server/bin/holtd.js")], {
    stdio: "inherit",
  }),
  spawn(process.execPath, [vite, "--clearScreen", "false"], {
    cwd: join(root, "packages/console"),
    stdio: "inherit",
  }),
];
console.log("The console with reloading is at http://localhost:5173/console/");
for (const child of processes) {
  child.on("exit", (code) => {
    process.exitCode ??= code ?? 0;
    for (const other of processes) other.kill();
  });
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => processes.forEach((child) => void child.kill(signal)));
