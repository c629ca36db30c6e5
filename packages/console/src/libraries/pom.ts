/** Reads from a POM where Maven would publish it. */

export interface Coordinates {
  readonly groupId: string;
  readonly artifactId: string;
  readonly version: string;
}

/** Group and version may be inherited from the parent. @returns empty strings for what the POM does not say */
export function coordinatesFromPom(text: string): Coordinates {
  const { documentElement: project } = new DOMParser().parseFromString(text, "application/xml");
  const parent = childOf(project, "parent");
  const textOf = (name: string, from: Element | undefined) => (from && childOf(from, name)?.textContent?.trim()) || "";
  return {
    groupId: textOf("groupId", project) || textOf("groupId", parent),
    artifactId: textOf("artifactId", project),
    version: textOf("version", project) || textOf("version", parent),
  };
}

function childOf(element: Element, name: string): Element | undefined {
  return [...element.children].find(({ localName }) => localName === name);
}
