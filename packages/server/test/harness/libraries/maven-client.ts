/** Publishes and resolves like Maven, with the same requests in the same order. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Answer, RegistryClient } from "../registry/registry-client.ts";
import { zipOf } from "./python-packages.ts";

export interface Coordinates {
  readonly groupId: string;
  readonly artifactId: string;
  readonly version: string;
}

export const hashOf = (bytes: string | Buffer, algorithm: string) => createHash(algorithm).update(bytes).digest("hex");

export function pomOf({ groupId, artifactId, version }: Coordinates, more = ""): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>${groupId}</groupId><artifactId>${artifactId}</artifactId><version>${version}</version>${more}
</project>`;
}

/**
 * The jar of a plugin.
 * @param more elements of its descriptor, such as `<goalPrefix>hello</goalPrefix>`.
 * @param descriptor replaces the generated one
 */
export function pluginJar(plugin: Pick<Coordinates, "groupId" | "artifactId">, more = "", descriptor = descriptorOf(plugin, more)): Buffer {
  return zipOf([
    { name: "META-INF/MANIFEST.MF", content: "Manifest-Version: 1.0\n" },
    { name: "META-INF/maven/plugin.xml", content: descriptor },
  ]);
}

function descriptorOf({ groupId, artifactId }: Pick<Coordinates, "groupId" | "artifactId">, more: string): string {
  const mojo = "<mojos><mojo><goal>say</goal><goalPrefix>nested</goalPrefix></mojo></mojos>";
  return `<?xml version="1.0" encoding="UTF-8"?><plugin>${mojo}<groupId>${groupId}</groupId><artifactId>${artifactId}</artifactId>${more}</plugin>`;
}

export function folderOf({ groupId, artifactId, version }: Coordinates): string {
  return `${groupId.replaceAll(".", "/")}/${artifactId}/${version}`;
}

export interface MavenClient {
  put(path: string, bytes: string | Buffer, headers?: Record<string, string>): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  send(method: string, path: string): Promise<Answer>;
  /** Uploads a file, then its checksums. */
  deployFile(path: string, bytes: string | Buffer): Promise<void>;
  /** Uploads the jar, the POM and the metadata. @param build of a snapshot, such as `20260101.000000-1` */
  deploy(coordinates: Coordinates, jar: string | Buffer, build?: string, pom?: string): Promise<void>;
  /** Downloads a file and verifies its checksums. */
  resolve(path: string): Promise<Buffer>;
}

/** @param root of the repository, such as `/libraries/java/my-org` */
export function createMavenClient(client: RegistryClient, root: string): MavenClient {
  const maven: MavenClient = {
    put: (path, body, headers = {}) => client.send("PUT", `${root}/${path}`, { body, headers }),
    get: (path, headers = {}) => client.send("GET", `${root}/${path}`, { headers }),
    send: (method, path) => client.send(method, `${root}/${path}`),
    async deployFile(path, bytes) {
      const answers = [await maven.put(path, bytes)];
      for (const algorithm of ["md5", "sha1", "sha256", "sha512"])
        answers.push(await maven.put(`${path}.${algorithm}`, hashOf(bytes, algorithm)));
      for (const { status, body } of answers) assert.ok(status === 200 || status === 201, `${path}: ${status} ${body}`);
    },
    async deploy(coordinates, jar, build, pom = pomOf(coordinates)) {
      const folder = folderOf(coordinates);
      const { artifactId, version } = coordinates;
      const stem = `${folder}/${artifactId}-${build === undefined ? version : version.replace("SNAPSHOT", build)}`;
      await maven.deployFile(`${stem}.jar`, jar);
      await maven.deployFile(`${stem}.pom`, pom);
      if (build !== undefined) await maven.deployFile(`${folder}/maven-metadata.xml`, "<metadata>the client's</metadata>");
      await maven.deployFile(`${folder.slice(0, folder.lastIndexOf("/"))}/maven-metadata.xml`, "<metadata>the client's</metadata>");
    },
    async resolve(path) {
      const file = await maven.get(path);
      assert.equal(file.status, 200, `${path}: ${file.body}`);
      for (const algorithm of ["md5", "sha1", "sha256", "sha512"]) {
        const { status, body } = await maven.get(`${path}.${algorithm}`);
        assert.deepEqual([status, body.toString()], [200, hashOf(file.body, algorithm)]);
      }
      return file.body;
    },
  };
  return maven;
}
