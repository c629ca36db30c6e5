/** Prefixes by which Maven finds plugins: for `mvn hello:say` it looks up which artifact of a group has the prefix `hello`. Pure. */

/** A plugin as its jar describes it. */
export interface MavenPlugin {
  readonly prefix: string;
  /** A display name; may be empty. */
  readonly name: string;
}

/** The column `metadata` of a file. */
export interface MavenFileMetadata {
  /** Only of POMs. */
  readonly packaging?: string;
  /** Only of jars that are plugins. */
  readonly plugin?: MavenPlugin;
}

/** The packaging in the POM of a plugin. */
const PLUGIN_PACKAGING = "maven-plugin";

/** A file makes its artifact a plugin if it is a jar with a plugin descriptor, or a POM with the packaging of plugins. */
export function isOfPlugin({ packaging, plugin }: MavenFileMetadata): boolean {
  return plugin !== undefined || packaging === PLUGIN_PACKAGING;
}

/** The prefix of a plugin that declares none: `hello-maven-plugin` has the prefix `hello`. Empty if nothing is left of the id. */
export function prefixOf(artifactId: string): string {
  if (artifactId === "maven-plugin-plugin") return "plugin";
  return artifactId.replaceAll(/-?maven-?/g, "").replaceAll(/-?plugin-?/g, "");
}

export interface PluginFile {
  readonly artifactId: string;
  /** The path below the artifact. */
  readonly path: string;
  readonly metadata: MavenFileMetadata;
}

export interface PluginOfGroup extends MavenPlugin {
  readonly artifactId: string;
}

/**
 * One plugin per prefix, sorted. If several artifacts have a prefix, the one published last wins, as in clients that merge such lists.
 * The prefix of a version comes from its jar, or else from the artifact's id.
 * @param files of one group's plugins, the oldest first
 */
export function pluginsOf(files: readonly PluginFile[]): readonly PluginOfGroup[] {
  const described = new Set(files.filter(({ metadata }) => metadata.plugin !== undefined).map(folderOf));
  const plugins = new Map<string, PluginOfGroup>();
  for (const file of files) {
    const { artifactId, metadata } = file;
    if (metadata.plugin === undefined && described.has(folderOf(file))) continue;
    const plugin = metadata.plugin ?? { prefix: prefixOf(artifactId), name: "" };
    if (plugin.prefix !== "") plugins.set(plugin.prefix, { ...plugin, artifactId });
  }
  return [...plugins.keys()].sort().flatMap((prefix) => plugins.get(prefix) ?? []);
}

/** The folder of the version. The builds of a snapshot share one. */
function folderOf({ artifactId, path }: PluginFile): string {
  return `${artifactId}/${path.slice(0, path.indexOf("/"))}`;
}
