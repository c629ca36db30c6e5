/** Reads a Helm chart from its archive on a thread: its metadata, its default values, and the images that it uses. */

import { buffer } from "node:stream/consumers";
import { decompress } from "../../archives/decompress.ts";
import { ArchiveError, type ArchiveLimits, ArchiveMeter } from "../../archives/limits.ts";
import { tarEntries } from "../../archives/tar-entries.ts";
import { openBoundedStream } from "../../blobs/bounded-stream.ts";
import { notFound } from "../../lib/errors.ts";
import { isRecord } from "../../lib/is-record.ts";
import { parseYaml } from "../../lib/yaml.ts";
import { type BlobFile, tooLarge, unreadable } from "../content/blob-file.ts";
import { MAX_CHART_BYTES } from "../content/document-sizes.ts";
import { type ChartImage, imagesOfChart } from "./chart-images.ts";
import { type Fields, textOf } from "./fields.ts";

/** Maximum size of a file that is read. Larger ones are left out. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Parsing takes up to `YAML_MEMORY_FACTOR` times this size. Values above it are answered, but their images are not read. */
const MAX_YAML_BYTES = 384 * 1024;
const MAX_DEPENDENCIES = 1000;
const LIMITS: ArchiveLimits = {
  maxEntries: 20_000,
  freeBytes: 64 * 1024 * 1024,
  maxRatio: 50,
  paths: { backslash: "separator" },
};

/** The files of a chart that are read. Charts that are packed inside are in deeper folders. */
const FILE = /^(?:\.\/)?[^/]+\/(Chart\.yaml|values\.yaml|CHANGELOG\.md)$/;

export interface ReadChart {
  readonly name: string;
  readonly version: string;
  readonly appVersion: string;
  readonly description: string;
  readonly dependencies: { name: string; version: string; repository: string }[];
  readonly annotations: Record<string, string>;
  readonly images: ChartImage[];
  /** The text of Chart.yaml. */
  readonly raw: string;
  /** The text of values.yaml, and of CHANGELOG.md; empty if there is none. */
  readonly values: string;
  readonly changelog: string;
}

/** @throws FAILED_PRECONDITION if the file is not the archive of a chart; NOT_FOUND if the file has lost the bytes */
export async function readChart(file: BlobFile): Promise<ReadChart> {
  if (file.size > MAX_CHART_BYTES) throw tooLarge(file.digest, MAX_CHART_BYTES);
  const files = await readFiles(file);
  const raw = files.get("Chart.yaml");
  if (raw === undefined) throw unreadable(file.digest, "it has no Chart.yaml of at most 1 MiB");
  const chart = parseFields(raw, (reason) => unreadable(file.digest, `Chart.yaml: ${reason}`));
  const values = files.get("values.yaml") ?? "";
  const annotations = annotationsOf(chart.annotations);
  return {
    name: textOf(chart.name),
    version: textOf(chart.version),
    appVersion: textOf(chart.appVersion),
    description: textOf(chart.description),
    dependencies: dependenciesOf(chart.dependencies),
    annotations,
    images: imagesOfChart(annotations, parseFields(values)),
    raw,
    values,
    changelog: files.get("CHANGELOG.md") ?? "",
  };
}

async function readFiles(file: BlobFile): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const meter = new ArchiveMeter(LIMITS, file.size);
  try {
    for await (const { header, content } of tarEntries(decompress(openBoundedStream(file), "gzip", meter), meter)) {
      const name = FILE.exec(header.name)?.[1];
      if (name === undefined || header.type !== "file" || found.has(name) || (header.size ?? 0) > MAX_FILE_BYTES) continue;
      found.set(name, (await buffer(content)).toString("utf8").toWellFormed());
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw notFound("Blob", file.digest);
    throw error instanceof ArchiveError ? unreadable(file.digest, error.message) : error;
  }
  return found;
}

/** The first document. @param refusal what to throw for invalid YAML; without it, invalid YAML has no fields */
function parseFields(text: string, refusal?: (reason: string) => Error): Fields {
  if (Buffer.byteLength(text) > MAX_YAML_BYTES) {
    if (refusal !== undefined) throw refusal(`larger than ${MAX_YAML_BYTES >> 10} KiB`);
    return {};
  }
  const [document] = parseYaml(text);
  if (document !== undefined && "value" in document && isRecord(document.value)) return document.value;
  if (refusal !== undefined) throw refusal(document !== undefined && "reason" in document ? document.reason : "not a mapping");
  return {};
}

function annotationsOf(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key.toWellFormed(), textOf(text)]));
}

function dependenciesOf(value: unknown): ReadChart["dependencies"] {
  const found = Array.isArray(value) ? value.filter(isRecord).slice(0, MAX_DEPENDENCIES) : [];
  return found.map(({ name, version, repository }) => ({ name: textOf(name), version: textOf(version), repository: textOf(repository) }));
}
