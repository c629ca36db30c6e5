// Writes the generated documentation: docs/configuration.md from the settings in packages/server/src/settings/, and the webhook receiver in
// docs/events.md from examples/. With --check it writes nothing and fails when a document is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { settings } from "../packages/server/src/config.ts";
import { folders } from "./architecture.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

const rows = Object.values(settings).map(({ env, fallback, fallbackDoc, doc, isSecret }) => {
  const shown = fallbackDoc ?? (fallback === "" ? "empty" : `\`${fallback}\``);
  const file = isSecret ? ` \`${env}_FILE\` names a file with the value instead.` : "";
  return `### \`${env}\`\n\n${wrap(doc + file)}\n\n${wrap(`Default: ${shown}.`)}\n`;
});

/** Breaks a paragraph into lines of at most 120 characters. */
function wrap(text) {
  return text.replace(/(.{1,120})(?: |$)/g, (_, line) => `${line}\n`).trimEnd();
}

const configuration = `# Configuration

<!-- Generated from packages/server/src/settings/ by \`npm run generate\`. -->

Settings are environment variables, or lines of a YAML file that \`HOLT_CONFIG\` names. Both use the same names, and a
variable of the environment wins over the file:

\`\`\`yaml
# HOLT_CONFIG=/etc/holt/config.yaml
HOLT_BASE_URL: https://holt.example.com
HOLT_DATABASE_URL_FILE: /run/secrets/holt-database-url
HOLT_TRUSTED_PROXIES: [127.0.0.1, 10.0.0.0/8]
\`\`\`

- Settings with several values can be YAML lists.
- A secret can be in a file of its own: \`HOLT_SMTP_URL_FILE\` names the file with the value of \`HOLT_SMTP_URL\`. One line
  break at its end does not count, and an empty file is refused. Every secret below has this variant.
- Variables of the libraries that Holt uses, such as \`AWS_ACCESS_KEY_ID\`, \`NODE_EXTRA_CA_CERTS\` or \`OTEL_SERVICE_NAME\`, are
  not settings. They work in the environment only, not in the file.
- \`holtd config check\` checks the settings, and the files that they name. \`holtd config print\` prints every setting and
  where its value is from, without secrets.

The server refuses to start with a value that cannot be used, or with another name that starts with \`HOLT_\`. The message
says what is wrong. The server ignores the variables of the [command line](cli.md#signing-in).

${rows.join("\n")}`;

/** Replaces the code block after the marker by the example that the marker names. */
function embedExample(document) {
  const block = /(<!-- Generated from (examples\/\S+) by .*? -->\n\n```js\n).*?(?=```)/s;
  if (!block.test(document)) throw new Error("docs/events.md has no marker that names an example");
  return document.replace(block, (_, head, example) => head + readFileSync(join(root, example), "utf8"));
}

/** Replaces the table between the two markers by the rungs, the highest first. */
function insertRungs(document) {
  const rows = folders
    .toReversed()
    .map(({ folder, rung, kind, holds }) => `| ${rung} | ${folder === "" ? "`src`" : `\`${folder}/\``} | ${kind} | ${holds} |`);
  const table = ["| rung | folder | kind | contents |", "|---|---|---|---|", ...rows].join("\n");
  const block = /(<!-- Rungs: .*? -->\n).*?(<!-- End of the rungs\. -->)/s;
  if (!block.test(document)) throw new Error("ARCHITECTURE.md has no markers for the rungs");
  return document.replace(block, (_, head, end) => `${head}\n${table}\n\n${end}`);
}

const documents = {
  "ARCHITECTURE.md": insertRungs,
  "docs/configuration.md": () => configuration,
  "docs/events.md": embedExample,
};
for (const [path, generate] of Object.entries(documents)) {
  const current = readFileSync(join(root, path), "utf8");
  const wanted = generate(current);
  if (current === wanted) continue;
  if (process.argv.includes("--check")) {
    console.error(`${path} is out of date: run npm run generate and commit the result.`);
    process.exitCode = 1;
  } else writeFileSync(join(root, path), wanted);
}
