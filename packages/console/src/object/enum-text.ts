/** The values of an enum of the contract in words: `STATE_PENDING` is "pending". */
import type { DescEnum } from "@bufbuild/protobuf";

/** Empty for zero, which stands for no value. */
export function enumText(schema: DescEnum, value: number): string {
  const found = schema.values.find(({ number }) => number === value);
  if (value === 0) return "";
  if (found === undefined) return String(value);
  return found.name
    .slice(schema.sharedPrefix?.length ?? 0)
    .toLowerCase()
    .replaceAll("_", " ");
}

/** The values but zero, as the choices of a filter or of a field. */
export function enumChoices(schema: DescEnum): readonly { readonly value: string; readonly title: string }[] {
  return schema.values
    .filter(({ number }) => number !== 0)
    .map(({ number }) => ({ value: String(number), title: enumText(schema, number) }));
}

/** The number in a parameter of the address; 0 if it is not one. */
export function enumValue(text: string | undefined): number {
  const value = Number(text ?? "0");
  return Number.isInteger(value) ? value : 0;
}
