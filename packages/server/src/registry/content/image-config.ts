/** Reads how a container of an image runs, from the image's config (OCI image specification, config.md). Pure but for the file. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ImageConfigSchema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { isRecord } from "../../lib/is-record.ts";
import { parseBoundedJson } from "../../lib/strict-json.ts";
import { type BlobFile, readBlobFile, unreadable } from "./blob-file.ts";
import { MAX_CONFIG_BYTES } from "./config-platform.ts";

export type RunConfig = MessageInitShape<typeof ImageConfigSchema>;

const LIMITS = { maxDepth: 32, maxValues: 50_000 };

/** Values of a wrong type are left out. @throws FAILED_PRECONDITION if the file is not the config of an image */
export async function readRunConfig(file: BlobFile): Promise<RunConfig> {
  const bytes = await readBlobFile(file, MAX_CONFIG_BYTES);
  let document: unknown;
  try {
    document = parseBoundedJson(bytes.toString("utf8"), LIMITS);
  } catch (error) {
    throw unreadable(file.digest, (error as Error).message.slice(0, 200));
  }
  // Docker writes null for an image without settings.
  return runConfigOf(isRecord(document) && isRecord(document.config) ? document.config : {});
}

function runConfigOf(config: Readonly<Record<string, unknown>>): RunConfig {
  return {
    user: stringOf(config.User),
    exposedPorts: keysOf(config.ExposedPorts),
    env: stringsOf(config.Env),
    entrypoint: stringsOf(config.Entrypoint),
    cmd: stringsOf(config.Cmd),
    volumes: keysOf(config.Volumes),
    workingDir: stringOf(config.WorkingDir),
    labels: isRecord(config.Labels) ? mapOf(Object.entries(config.Labels).map(([name, value]) => [name, stringOf(value)])) : {},
    stopSignal: stringOf(config.StopSignal),
  };
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : "";
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string").map((each) => each.toWellFormed()) : [];
}

/** The specification writes sets as objects with empty values. */
function keysOf(value: unknown): Record<string, Record<string, never>> {
  return isRecord(value) ? mapOf(Object.keys(value).map((key) => [key, {}])) : {};
}

function mapOf<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  return Object.fromEntries(entries.map(([key, value]) => [key.toWellFormed(), value]));
}
