// Writes docs/configuration.md from the settings in packages/server/src/config.ts; with --check it only says whether that is up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { settings } from "../packages/server/src/config.ts";

const path = join(dirname(fileURLToPath(import.meta.url)), "../docs/configuration.md");

const rows = Object.values(settings).map(({ env, fallback, fallbackDoc, doc }) => {
  const shown = fallbackDoc ?? (fallback === "" ? "empty" : `\`${fallback}\``);
  return `### \`${env}\`\n\n${wrap(doc)}\n\n${wrap(`Default: ${shown}.`)}\n`;
});

/** Breaks a paragraph into lines of at most 120 characters. */
function wrap(text) {
  return text.replace(/(.{1,120})(?: |$)/g, (_, line) => `${line}\n`).trimEnd();
}

const text = `# Configuration

<!-- Generated from packages/server/src/config.ts by \`npm run generate\`. -->

Settings are environment variables. A value that cannot be used, and a variable that starts with \`HOLT_\` and is none of
these, is refused at start with a message that says what is wrong.

${rows.join("\n")}`;

if (!process.argv.includes("--check")) writeFileSync(path, text);
else if (readFileSync(path, "utf8") !== text) {
  console.error("docs/configuration.md is not what config.ts says: run npm run generate and commit the result.");
  process.exit(1);
} else console.log("docs/configuration.md is up to date.");
