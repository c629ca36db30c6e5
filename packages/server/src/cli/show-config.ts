/** The commands `holtd config check` and `holtd config print`. */
import { loadConfig, type PrintedSetting, printedSettings } from "../config.ts";
import { readCertificate } from "../http/certificate.ts";
import { readTrustedRoot } from "../settings/trusted-root-file.ts";

/** @throws Error for settings that a start would refuse, the files that they name included */
export async function checkConfig(): Promise<void> {
  const { tlsCert, tlsKey, sigstoreTrustedRoot } = await loadConfig();
  if (tlsCert !== "") readCertificate({ certFile: tlsCert, keyFile: tlsKey });
  await readTrustedRoot(sigstoreTrustedRoot);
  console.log("The settings are valid.");
}

/** Prints every setting as a line of YAML with its source, and then fails if a start would refuse them. */
export async function printConfig(): Promise<void> {
  for (const line of (await printedSettings()).map(yamlLine)) console.log(line);
  await loadConfig();
}

/** Strings in JSON are strings in YAML. */
function yamlLine({ name, shown, source }: PrintedSetting): string {
  return `${name}: ${JSON.stringify(shown)}  # ${source}`;
}
