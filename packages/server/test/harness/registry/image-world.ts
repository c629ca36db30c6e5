/** A repo into which tests push images as clients do, and from which they read the packages that the server found. */
import {
  ImagePackagesService,
  type ImageScan,
  ImageScan_State,
  type ListImagePackagesResponse,
} from "@holt/api/gen/holt/v1/image_packages_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { until } from "../wait.ts";
import type { World } from "../world.ts";
import { basic, CONFIG, createRegistryClient, type Descriptor, INDEX, LAYER, MANIFEST, type RegistryClient } from "./registry-client.ts";

export interface ImageRepo extends Disposable {
  readonly client: RegistryClient;
  /** A client of the registry. */
  readonly name: string;
  readonly uid: string;
  push(layers: readonly Buffer[], platform?: { architecture: string; os?: string; variant?: string }): Promise<Descriptor>;
  /** Pushes an artifact manifest. @param layers content and media type of each layer */
  pushArtifact(
    layers: readonly (readonly [content: string, mediaType: string])[],
    fields?: object,
    reference?: string,
  ): Promise<Descriptor>;
  pushIndex(manifests: readonly object[]): Promise<Descriptor>;
  list(digest: string): Promise<ListImagePackagesResponse>;
  /** Waits until no scan is pending. */
  read(digest: string): Promise<ListImagePackagesResponse>;
}

export async function createImageRepo(world: World, token = world.owner.token, group?: string): Promise<ImageRepo> {
  const client = createRegistryClient(world.baseUrl, basic("_token", token));
  const parent = group ?? (await world.group(world.orgUid));
  const { uid } = await world.must(ReposService.method.createRepo, { parent, repo: { name: "app" } }, token);
  const name = uid;
  const list = (digest: string) => world.must(ImagePackagesService.method.listImagePackages, { uid, digest, pageSize: 200 }, token);
  let count = 0;
  return {
    client,
    name,
    uid,
    list,
    async push(layers, platform = { architecture: "amd64" }) {
      const config = await client.blob(name, JSON.stringify({ os: "linux", ...platform, author: `${uid} ${count++}` }), CONFIG);
      const blobs = [];
      for (const layer of layers) blobs.push(await client.blob(name, layer, LAYER));
      return client.manifest(name, { schemaVersion: 2, mediaType: MANIFEST, config, layers: blobs });
    },
    async pushArtifact(layers, fields = {}, reference) {
      const config = await client.blob(name, "{}", "application/vnd.oci.empty.v1+json");
      const blobs = [];
      for (const [content, mediaType] of layers) blobs.push(await client.blob(name, content, mediaType));
      return client.manifest(name, { schemaVersion: 2, mediaType: MANIFEST, config, layers: blobs, ...fields }, reference);
    },
    pushIndex: (manifests) => client.manifest(name, { schemaVersion: 2, mediaType: INDEX, manifests }),
    async read(digest) {
      let found = await list(digest);
      await until(async () => {
        found = await list(digest);
        return found.state !== ImageScan_State.PENDING;
      });
      return found;
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

/** The packages as `type name version`, in the order of the list. */
export function named({ packages }: ListImagePackagesResponse): string[] {
  return packages.map(({ type, name, version }) => `${type} ${name} ${version}`);
}

const STATES = new Map<ImageScan_State, string>([
  [ImageScan_State.PENDING, "PENDING"],
  [ImageScan_State.DONE, "DONE"],
  [ImageScan_State.FAILED, "FAILED"],
]);

/** The only scan of an image, with its state as a name. */
export function scanOf({ scans }: ListImagePackagesResponse): Omit<ImageScan, "state"> & { state: string } {
  const [scan, ...others] = scans;
  if (scan === undefined || others.length > 0) throw new Error(`there are ${scans.length} scans`);
  return { ...scan, state: STATES.get(scan.state) ?? "" };
}
