/**
 * Finds the images that a chart uses: those that its annotations list, and those in its default values, where
 * `repository` with an optional `registry`, `tag` and `digest` is the convention. Pure.
 */
import { ChartImageRequirement } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { isRecord } from "../../lib/is-record.ts";
import { parseYaml } from "../../lib/yaml.ts";
import { type Fields, textOf } from "./fields.ts";

export interface ChartImage {
  readonly name: string;
  /** `[registry/]repository[:tag][@digest]` */
  readonly image: string;
  readonly requirement: ChartImageRequirement;
}

/** Values that are visited. YAML aliases can stand for more than the text has. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 50;
const MAX_IMAGES = 500;
const MAX_LENGTH = 512;
/** Lists of images in YAML: of Artifact Hub, and of two common packagers. */
const ANNOTATIONS = ["artifacthub.io/images", "images", "helm.sh/images"];

const { REQUIREMENT_UNSPECIFIED: UNSPECIFIED, REQUIREMENT_REQUIRED: REQUIRED, REQUIREMENT_OPTIONAL: OPTIONAL } = ChartImageRequirement;

/** Each image once, with the requirement that the values give it. */
export function imagesOfChart(annotations: Readonly<Record<string, string>>, values: Fields): ChartImage[] {
  const found = new Map<string, ChartImage>();
  const add = (image: ChartImage) => {
    const known = found.get(image.image);
    if (image.image === "" || image.image.length > MAX_LENGTH || found.size >= MAX_IMAGES) return;
    if (known === undefined || rank(image) > rank(known)) found.set(image.image, { ...image, name: known?.name || image.name });
  };
  for (const image of imagesInAnnotations(annotations)) add(image);
  for (const image of imagesInValues(values)) add(image);
  return [...found.values()];
}

/** A chart that needs an image in one place needs it. */
function rank({ requirement }: ChartImage): number {
  return requirement === REQUIRED ? 2 : requirement === OPTIONAL ? 1 : 0;
}

function* imagesInAnnotations(annotations: Readonly<Record<string, string>>): Generator<ChartImage> {
  for (const key of ANNOTATIONS) {
    const [document] = parseYaml(annotations[key] ?? "");
    const list = document !== undefined && "value" in document && Array.isArray(document.value) ? document.value : [];
    for (const { name, image } of list.filter(isRecord)) yield { name: textOf(name), image: textOf(image), requirement: UNSPECIFIED };
  }
}

interface Place {
  readonly value: unknown;
  /** Keys from the top of the values. */
  readonly path: readonly string[];
  /** False below a block that has `enabled: false`. */
  readonly isEnabled: boolean;
}

function* imagesInValues(values: Fields): Generator<ChartImage> {
  const global = isRecord(values.global) ? values.global : {};
  const registry = textOf(global.imageRegistry);
  const waiting: Place[] = [{ value: values, path: [], isEnabled: true }];
  for (let visited = 0; visited < MAX_VALUES; visited++) {
    const place = waiting.pop();
    if (place === undefined) return;
    const image = imageAt(place, registry);
    if (image !== "") yield { name: nameOf(place.path), image, requirement: place.isEnabled ? REQUIRED : OPTIONAL };
    else if (place.path.length < MAX_DEPTH) waiting.push(...placesIn(place).reverse());
  }
}

function placesIn({ value, path, isEnabled }: Place): Place[] {
  if (Array.isArray(value)) return value.map((inner) => ({ value: inner, path, isEnabled }));
  if (!isRecord(value)) return [];
  const enabled = isEnabled && value.enabled !== false;
  return Object.entries(value).map(([key, inner]) => ({ value: inner, path: [...path, key], isEnabled: enabled }));
}

/** The image that a place names; the empty string if it names none. */
function imageAt({ value, path }: Place, globalRegistry: string): string {
  if (typeof value === "string") return path.at(-1) === "image" && value.includes("/") ? value.toWellFormed() : "";
  if (!isRecord(value) || !isImageKey(path.at(-1))) return "";
  const repository = textOf(value.repository);
  if (repository === "" || repository.includes("://")) return "";
  const registry = globalRegistry || textOf(value.registry);
  const tag = textOf(value.tag);
  const digest = textOf(value.digest);
  return `${registry === "" ? "" : `${registry}/`}${repository}${tag === "" ? "" : `:${tag}`}${digest === "" ? "" : `@${digest}`}`;
}

/** Other blocks have a `repository`, too, such as those of charts and of git. */
function isImageKey(key: string | undefined): boolean {
  return key !== undefined && /image$/i.test(key);
}

/** `controller` of `controller.image`; `image` at the top. */
function nameOf(path: readonly string[]): string {
  return (path.length > 1 && path.at(-1) === "image" ? path.slice(0, -1) : path).join(".").slice(0, MAX_LENGTH).toWellFormed();
}
