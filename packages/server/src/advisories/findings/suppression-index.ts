/** Finds the statement that suppresses a finding, by vulnerability, component and manifest. Pure. */
import { packageType } from "../export/ecosystems.ts";
import { packageKey } from "../model/package-key.ts";
import type { Suppression } from "./finding.ts";
import type { ImageFinding } from "./image-findings.ts";
import type { StatementRow } from "./statement-rows.ts";

/** The manifests in which a statement suppresses findings: all, or those with certain packages, by digest. */
export type SuppressionScope = Suppression | ReadonlyMap<string, Suppression>;

/** Stands for all components. */
const ANY_COMPONENT = "";

export class SuppressionIndex {
  /** A statement without a component type is about components of each of these types. */
  readonly #types: readonly string[];
  /** By vulnerability and component, in the order of adding. */
  readonly #scopes = new Map<string, SuppressionScope[]>();
  /** The first by vulnerability, component and digest. */
  readonly #first = new Map<string, Suppression | undefined>();

  /** @param findings those that are looked up later */
  constructor(findings: readonly ImageFinding[]) {
    this.#types = [...new Set(findings.map(({ type }) => packageType(type)))];
  }

  /** All statements are added before the first one is looked up, in the order of their uids. */
  add({ alias, component_type: type, component_name: name }: StatementRow, scope: SuppressionScope): void {
    for (const component of this.#componentsOf(type, name)) {
      const key = `${alias}\0${component}`;
      const scopes = this.#scopes.get(key);
      if (scopes === undefined) this.#scopes.set(key, [scope]);
      else if (isPartial(scopes.at(-1))) scopes.push(scope);
    }
  }

  /** The suppression under the first of the vulnerability's names that has one. */
  find({ vulnerability, detail, matchName, matchOrigin, digest }: ImageFinding): Suppression | undefined {
    for (const id of [vulnerability, ...detail.aliases]) {
      const found = [ANY_COMPONENT, matchName, matchOrigin].flatMap((component) => this.#firstOf(`${id}\0${component}`, digest) ?? []);
      if (found.length > 0) return found.reduce((one, other) => (other.advisory < one.advisory ? other : one));
    }
    return undefined;
  }

  #componentsOf(type: string, name: string): string[] {
    if (name === "") return [ANY_COMPONENT];
    return type === "" ? this.#types.map((each) => packageKey(each, name)) : [packageKey(type, name)];
  }

  #firstOf(key: string, digest: string): Suppression | undefined {
    const scopes = this.#scopes.get(key);
    if (scopes === undefined) return undefined;
    const place = `${key}\0${digest}`;
    if (this.#first.has(place)) return this.#first.get(place);
    const covering = scopes.find((scope) => !isPartial(scope) || scope.has(digest));
    const suppression = isPartial(covering) ? covering.get(digest) : covering;
    this.#first.set(place, suppression);
    return suppression;
  }
}

function isPartial(scope: SuppressionScope | undefined): scope is ReadonlyMap<string, Suppression> {
  return scope instanceof Map;
}
