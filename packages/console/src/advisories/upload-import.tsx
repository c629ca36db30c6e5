/** Uploads a file of advisories in chunks, and starts its import. */
import { callUnaryMethod, useMutation, useTransport } from "@connectrpc/connect-query";
import { ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Progress, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { FileDrop } from "../form/file-drop.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { useForm } from "../form/use-form.ts";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ActionButton } from "../object/action-button.tsx";
import { KindField } from "./kind-field.tsx";

/** The most that the API takes at once. */
const CHUNK = 3_000_000;
const fields: ReadonlySet<string> = new Set(["parent", "kind"]);

export function UploadImportButton({ parent }: { readonly parent: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={ImportsService.method.createImport} uid={parent} size="xs" onClick={open}>
        Import a file
      </ActionButton>
      {isOpen && <UploadImportDialog parent={parent} onClose={close} />}
    </>
  );
}

interface ImportValues extends Record<string, unknown> {
  readonly parent: string;
  readonly kind: ImportKind;
  readonly file: File | undefined;
}

function UploadImportDialog({ parent, onClose }: { readonly parent: string; readonly onClose: () => void }) {
  const transport = useTransport();
  const navigate = useNavigate();
  const organization = useOrganization();
  const [part, setPart] = useState<number>();
  const start = useMutation(ImportsService.method.startImport);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const initial: ImportValues = { parent, kind: ImportKind.ADVISORIES, file: undefined };
  const form = useForm(initial, async ({ parent: group, kind, file }) => {
    if (file === undefined) throw new Error("choose a file");
    const { createImport, writeImport, deleteImport } = ImportsService.method;
    const { signal } = stop.current;
    const { uid } = await callUnaryMethod(transport, createImport, { parent: group, kind, fileName: file.name }, { signal });
    try {
      for (let offset = 0; offset < file.size; offset += CHUNK) {
        setPart(offset / file.size);
        const data = new Uint8Array(await file.slice(offset, offset + CHUNK).arrayBuffer());
        await callUnaryMethod(transport, writeImport, { uid, offset: BigInt(offset), data }, { signal });
      }
    } catch (error) {
      // An organization can have few unfinished imports.
      await callUnaryMethod(transport, deleteImport, { uid }).catch(() => {});
      throw error;
    }
    setPart(1);
    await start.mutateAsync({ uid, size: BigInt(file.size) });
    return () => void navigate({ to: screenPath(organization, "/import", uid), search: {} });
  });
  const { values, set, violation } = form;
  return (
    <FormDialog title="Import advisories" send="Import" form={form} fields={fields} onClose={onClose}>
      <FileDrop
        hint="Drop a file or an archive here: OSV, OpenVEX, CSAF, secdb, or YAML of advisories."
        onFiles={([file]) => set("file", file)}
      />
      {values.file !== undefined && (
        <Text size="sm">
          <bdi>{values.file.name}</bdi>, {values.file.size.toLocaleString("en")} bytes
        </Text>
      )}
      {part !== undefined && form.isSending && <Progress value={part * 100} aria-label="Upload" />}
      <KindField value={values.kind} error={violation("kind")} onChange={(kind) => set("kind", kind)} />
      <GroupField value={values.parent} error={violation("parent")} onChange={(uid) => set("parent", uid)} />
    </FormDialog>
  );
}
