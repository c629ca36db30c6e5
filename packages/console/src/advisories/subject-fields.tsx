/** The fields of an advisory that say what it is about. */
import { Textarea, TextInput } from "@mantine/core";
import type { Form } from "../form/use-form.ts";

export interface Subject extends Record<string, unknown> {
  readonly artifactType: string;
  readonly artifactName: string;
  readonly artifactArchitecture: string;
  readonly componentName: string;
  readonly componentType: string;
  readonly componentLocation: string;
  /** One per line. */
  readonly aliases: string;
}

const FIELDS = [
  { name: "artifactName", field: "artifact_name", label: "Package", isRequired: true },
  { name: "artifactType", field: "artifact_type", label: "Package type", isRequired: true, description: "Such as apk, deb, pypi or npm" },
  { name: "artifactArchitecture", field: "artifact_architecture", label: "Architecture", description: "All if empty" },
  { name: "componentName", field: "component_name", label: "Component", description: "Of the package, such as a vendored library" },
  { name: "componentType", field: "component_type", label: "Component type" },
  { name: "componentLocation", field: "component_location", label: "Path of the component" },
] as const;

/** Names of the fields in the contract, with and without the message that they are in. */
export const subjectFields: ReadonlySet<string> = new Set(
  [...FIELDS.map(({ field }) => field), "aliases"].flatMap((field) => [field, `advisory.${field}`]),
);

export function SubjectFields({ form }: { readonly form: Form<Subject> }) {
  const errorOf = (field: string) => form.violation(field) ?? form.violation(`advisory.${field}`);
  return (
    <>
      {FIELDS.map(({ name, field, label, ...rest }, index) => (
        <TextInput
          key={name}
          label={label}
          description={"description" in rest ? rest.description : undefined}
          required={"isRequired" in rest}
          data-autofocus={index === 0 || undefined}
          value={form.values[name]}
          error={errorOf(field)}
          onChange={({ currentTarget }) => form.set(name, currentTarget.value)}
        />
      ))}
      <Textarea
        label="Vulnerabilities"
        description="CVE and GHSA ids, one per line"
        autosize
        value={form.values.aliases}
        error={errorOf("aliases")}
        onChange={({ currentTarget }) => form.set("aliases", currentTarget.value)}
      />
    </>
  );
}

export function advisoryFrom({ aliases, ...subject }: Subject) {
  return { ...subject, aliases: linesOf(aliases) };
}

export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
