/**
 * The repository of an image with its registry, such as `registry.example.com/my-org/app`; undefined without a registry.
 */
export function repositoryOf(image: string): string | undefined {
  const name = (image.split("@", 1)[0] ?? "").replace(/:[^/:]*$/, "");
  const [registry = "", ...path] = name.split("/");
  const isRegistry = /^[\w.:/-]+$/.test(name) && (registry === "localhost" || /[.:]/.test(registry));
  return isRegistry && path.length > 0 ? name : undefined;
}
