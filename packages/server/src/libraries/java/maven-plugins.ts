/** Prefixes by which Maven finds plugins: `mvn hello:say` asks which artifact of a group has the prefix `hello`. Pure. */

/** Of a plugin, as its jar says it. */
export interface MavenPlugin {
  readonly prefix: string;
  /** For people; empty where it has none. */
  readonly name: string;
}

/** Of a file, in the column `metadata`. */
export interface MavenFileMetadata {
  /** Of POMs. */
  readonly packaging?: string;
  /** Of jars that are plugins. */
  readonly plugin?: MavenPlugin;
}

/** Of POMs of plugins. */
const PACKAGING = "maven-plugin";

/** Such files make their artifact a plugin: the jar by what it says, or the POM by its packaging. */
export function isOfPlugin({ packaging, plugin }: MavenFileMetadata): boolean {
  return plugin !== undefined || packaging === PACKAGING;
}

/** What Maven gives a plugin that says nothing else: `hello-maven-plugin` is `hello`. Empty where nothing is left. */
export function prefixOf(artifactId: string): string {
  if (artifactId === "maven-plugin-plugin") return "plugin";
  return artifactId.replaceAll(/-?maven-?/g, "").replaceAll(/-?plugin-?/g, "");
}

export interface PluginFile {
  readonly artifactId: string;
  /** In its artifact. */
  readonly path: string;
  readonly metadata: MavenFileMetadata;
}

export interface PluginOfGroup extends MavenPlugin {
  readonly artifactId: string;
}

/**
 * One for each prefix, in their order: of several artifacts, the one that was published last, as clients do it that merge such lists.
 * A jar says it for its version; where it does not, the artifact's id does.
 * @param files of one group's plugins, from the oldest on
 */
export function pluginsOf(files: readonly PluginFile[]): readonly PluginOfGroup[] {
  const told = new Set(files.filter(({ metadata }) => metadata.plugin !== undefined).map(folderOf));
  const plugins = new Map<string, PluginOfGroup>();
  for (const file of files) {
    const { artifactId, metadata } = file;
    if (metadata.plugin === undefined && told.has(folderOf(file))) continue;
    const plugin = metadata.plugin ?? { prefix: prefixOf(artifactId), name: "" };
    if (plugin.prefix !== "") plugins.set(plugin.prefix, { ...plugin, artifactId });
  }
  return [...plugins.keys()].sort().flatMap((prefix) => plugins.get(prefix) ?? []);
}

/** Its folder, which for the builds of a snapshot is one. */
function folderOf({ artifactId, path }: PluginFile): string {
  return `${artifactId}/${path.slice(0, path.indexOf("/"))}`;
}
