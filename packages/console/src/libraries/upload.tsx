/** Publishes files in the library of a group, one after the other, with the progress of each. */
import { Button, Group, List, Progress, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { FileDrop } from "../form/file-drop.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { type EcosystemView, repositoryPath, sizeText } from "./ecosystem.ts";
import { type LibraryCall, sendLibraryCall } from "./library-request.ts";
import { coordinatesFromPom } from "./pom.ts";

export interface UploadProps {
  readonly ecosystem: EcosystemView;
  /** uid of the group. */
  readonly parent: string;
}

export function UploadButton(props: UploadProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const { ecosystem, parent } = props;
  return (
    <>
      <ActionButton capabilities={[ecosystem.publish]} uid={parent} size="xs" onClick={open}>
        Upload
      </ActionButton>
      {isOpen && <UploadDialog {...props} onClose={close} />}
    </>
  );
}

interface UploadValues extends Record<string, unknown> {
  readonly parent: string;
  readonly files: readonly File[];
  readonly groupId: string;
  readonly artifactId: string;
  readonly version: string;
}

const NO_FILES: readonly File[] = [];
const fields: ReadonlySet<string> = new Set();

function UploadDialog({ ecosystem, parent, onClose }: UploadProps & { readonly onClose: () => void }) {
  const queryClient = useQueryClient();
  const { progress, upload } = useUpload(ecosystem);
  const initial: UploadValues = { parent, files: NO_FILES, groupId: "", artifactId: "", version: "" };
  const form = useForm(initial, async (values) => {
    await upload(values);
    await queryClient.invalidateQueries();
    onClose();
  });
  const { values, set } = form;
  const isJava = ecosystem.path === "java";

  async function add(added: readonly File[]): Promise<void> {
    set("files", withFiles(values.files, added));
    const pom = added.find(({ name }) => name.endsWith(".pom") || name === "pom.xml");
    if (!isJava || pom === undefined) return;
    const found = coordinatesFromPom(await pom.text());
    // A POM may leave out what the person has typed.
    for (const name of COORDINATES) if (found[name] !== "") set(name, found[name]);
  }

  return (
    <FormDialog title={`Upload ${ecosystem.title} files`} send="Publish" form={form} fields={fields} onClose={onClose}>
      <FileDrop
        hint={isJava ? "Drop the POM, the jar and other files of one version here." : "Drop wheels and source distributions here."}
        isMultiple
        onFiles={(added) => void add(added)}
      />
      <List listStyleType="none" spacing="xs" aria-label="Files to publish">
        {values.files.map((file) => (
          <FileRow
            key={keyOf(file)}
            file={file}
            part={progress.get(file)}
            canRemove={!form.isSending}
            onRemove={() =>
              set(
                "files",
                values.files.filter((each) => each !== file),
              )
            }
          />
        ))}
      </List>
      {isJava &&
        COORDINATES.map((name) => (
          <TextInput
            key={name}
            label={name}
            required
            value={values[name]}
            onChange={({ currentTarget }) => set(name, currentTarget.value.trim())}
          />
        ))}
      <GroupField value={values.parent} onChange={(uid) => set("parent", uid)} />
    </FormDialog>
  );
}

const COORDINATES = ["groupId", "artifactId", "version"] as const;

function keyOf({ name, size, lastModified }: File): string {
  return `${name} ${size} ${lastModified}`;
}

/** A file that is chosen again stays as it is: it may be published already. */
function withFiles(files: readonly File[], added: readonly File[]): readonly File[] {
  const all = new Map(files.map((file) => [keyOf(file), file]));
  for (const file of added) if (!all.has(keyOf(file))) all.set(keyOf(file), file);
  return [...all.values()];
}

/** Uploads files until the component is gone. A second upload skips the files that the server has published. */
function useUpload(ecosystem: EcosystemView) {
  /** Part that was sent; 1 once the server has published the file. */
  const [progress, setProgress] = useState<ReadonlyMap<File, number>>(new Map());
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);

  async function upload(values: UploadValues): Promise<void> {
    for (const file of values.files) {
      if (progress.get(file) === 1) continue;
      const report = (part: number | undefined) => setProgress((before) => withPart(before, file, part));
      const onProgress = (part: number) => report(Math.min(part, 0.99));
      try {
        await sendLibraryCall({ ...callOf(ecosystem, values, file), onProgress, signal: stop.current.signal });
      } catch (error) {
        report(undefined);
        throw error;
      }
      report(1);
    }
  }

  return { progress, upload };
}

function withPart(progress: ReadonlyMap<File, number>, file: File, part: number | undefined): ReadonlyMap<File, number> {
  const changed = new Map(progress);
  if (part === undefined) changed.delete(file);
  else changed.set(file, part);
  return changed;
}

interface FileRowProps {
  readonly file: File;
  /** Part that was sent; 1 once the server has published it. */
  readonly part: number | undefined;
  readonly canRemove: boolean;
  readonly onRemove: () => void;
}

function FileRow({ file, part, canRemove, onRemove }: FileRowProps) {
  return (
    <List.Item styles={{ itemWrapper: { width: "100%" }, itemLabel: { width: "100%" } }}>
      <Group gap="xs" wrap="nowrap" justify="space-between">
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          <bdi>{file.name}</bdi> ({sizeText(file.size)}){part === 1 && ": published"}
        </Text>
        {part === undefined && canRemove && (
          <Button size="compact-xs" variant="default" onClick={onRemove} aria-label={`Remove ${file.name}`}>
            Remove
          </Button>
        )}
      </Group>
      {part !== undefined && <Progress value={part * 100} aria-label={`Upload of ${file.name}`} />}
    </List.Item>
  );
}

function callOf(ecosystem: EcosystemView, { parent, groupId, artifactId, version }: UploadValues, file: File): LibraryCall {
  const root = repositoryPath(ecosystem, parent);
  if (ecosystem.path === "python") {
    const form = new FormData();
    form.set(":action", "file_upload");
    form.set("content", file, file.name);
    return { method: "POST", path: root, body: form };
  }
  // A build names its POM pom.xml; repositories do not.
  const name = file.name === "pom.xml" ? `${artifactId}-${version}.pom` : file.name;
  const path = [...groupId.split("."), artifactId, version, name].map(encodeURIComponent).join("/");
  return { method: "PUT", path: `${root}${path}`, body: file };
}
