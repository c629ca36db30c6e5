/** Settings of the database and of the place of blobs. */
import { resolve } from "node:path";
import { parseBlobPlace, parseRedirect } from "../blobs/blob-settings.ts";
import { parseBaseUrl, parseDatabaseUrl } from "./addresses.ts";
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, matching, nonEmpty, orZero, parseDuration, parseInteger, parseSwitch } from "./values.ts";

export const storageSettings = {
  dataDir: {
    env: "HOLT_DATA_DIR",
    fallback: "./data",
    doc: "Folder of the embedded database and, unless HOLT_BLOBS says otherwise, of the registry's blobs. With PostgreSQL it holds the blobs only, and all servers share it; with blobs in S3, each server has its own. Created with mode 0700 if missing. A user who can read the database in it can act as the bootstrap owner.",
    parse: (text) => resolve(nonEmpty(text)),
  },
  blobs: {
    env: "HOLT_BLOBS",
    fallback: "folder",
    doc: "Where the content of images, libraries, waiting imports and built feeds of advisories is: `folder` for the data folder, or `s3://bucket/prefix`. Credentials come from where the AWS SDK looks: the variables `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, its files, or the machine's role. See [scaling](scaling.md).",
    parse: parseBlobPlace,
  },
  /** Undefined unless blobs are moving. */
  blobsFallback: {
    env: "HOLT_BLOBS_FALLBACK",
    fallback: "",
    fallbackDoc: "none",
    doc: "The other place of content while `holtd blobs migrate` moves it, in the form of HOLT_BLOBS. Servers read there what HOLT_BLOBS does not have.",
    parse: (text) => (text === "" ? undefined : parseBlobPlace(text)),
  },
  blobsRedirect: {
    env: "HOLT_BLOBS_REDIRECT",
    fallback: "off",
    doc: "`on` sends clients that pull content from S3 to presigned URLs, which are valid for 15 minutes; `off` passes the bytes through this server. The URL of an endpoint means `on`, for clients that reach S3 at another address than this server.",
    parse: parseRedirect,
  },
  /** Empty for AWS. */
  s3Endpoint: {
    env: "HOLT_S3_ENDPOINT",
    fallback: "",
    fallbackDoc: "AWS",
    doc: "URL of the S3 service, such as `https://s3.example.com`, for services other than AWS.",
    parse: parseBaseUrl,
  },
  s3Region: {
    env: "HOLT_S3_REGION",
    fallback: "",
    fallbackDoc: "from `AWS_REGION` or the configuration of the AWS SDK",
    doc: "Region of the bucket.",
    parse: (text) => matching(/^[a-z0-9-]*$/, text, "empty, or a region such as eu-central-1"),
  },
  s3PathStyle: {
    env: "HOLT_S3_PATH_STYLE",
    fallback: "off",
    doc: "`on` puts the bucket into the path of URLs (`https://host/bucket/key`) instead of the host, as many services other than AWS need.",
    parse: parseSwitch,
  },
  databaseUrl: {
    env: "HOLT_DATABASE_URL",
    fallback: "",
    isSecret: true,
    doc: "Empty for SQLite in the data folder, or `postgres://user:password@host:5432/database` for PostgreSQL 15 or newer. Several servers may share one PostgreSQL. With several hosts, `postgres://…@a:5432,b:5432/database?target_session_attrs=read-write`, the server uses the one that accepts writes, and follows a failover.",
    parse: parseDatabaseUrl,
  },
  databasePoolSize: {
    env: "HOLT_DATABASE_POOL_SIZE",
    fallback: "10",
    doc: "Number of PostgreSQL connections that this server keeps for writing, and the same number again for reading.",
    parse: parseInteger(1, 1000),
  },
  /** 0 for never. */
  databaseCheckMs: {
    env: "HOLT_DATABASE_CHECK",
    fallback: "24h",
    doc: "Pause between two checks of the SQLite file for damaged pages, in the background. `0` checks never. PostgreSQL has its own data checksums.",
    parse: orZero(parseDuration(1000, 20 * 24 * HOUR_MS)),
  },
  /** 0 for no limit. */
  minFreeDiskBytes: {
    env: "HOLT_MIN_FREE_DISK",
    fallback: "536870912",
    doc: "Bytes of the disk with HOLT_DATA_DIR, and of the disk with its folder `blobs`, that stay free. With less free space, calls and uploads that store content are refused with UNAVAILABLE (HTTP 503); reads, deletions, sign-ins and collection go on. `0` writes until the disk is full.",
    parse: parseInteger(0, Number.MAX_SAFE_INTEGER),
  },
} satisfies SettingGroup;
