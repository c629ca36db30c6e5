/** Yanks a version, so that clients install it only on exact request, and deletes a version with its files. */
import type { LibraryVersion } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import type { Artifact } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ActionButton } from "../object/action-button.tsx";
import { parentOf } from "../object/parent-of.ts";
import { ecosystemView, repositoryPath } from "./ecosystem.ts";
import { sendLibraryCall } from "./library-request.ts";

export interface VersionActionProps {
  readonly library: Artifact;
  readonly version: LibraryVersion;
}

interface DialogProps extends VersionActionProps {
  readonly onClose: () => void;
}

const NO_FIELDS: ReadonlySet<string> = new Set();

export function YankButton(props: VersionActionProps) {
  const { library, version } = props;
  const [isOpen, { open, close }] = useDisclosure(false);
  const verb = version.yankTime === undefined ? "Yank" : "Undo yank";
  return (
    <>
      <ActionButton {...needs(library)} variant="default" size="compact-xs" onClick={open}>
        {verb}
      </ActionButton>
      {isOpen && <YankDialog {...props} verb={verb} onClose={close} />}
    </>
  );
}

function YankDialog({ library, version, verb, onClose }: DialogProps & { readonly verb: string }) {
  const queryClient = useQueryClient();
  const isYank = version.yankTime === undefined;
  const form = useForm({ reason: "" }, async ({ reason }) => {
    const path = `${pathOf(library, version)}/${isYank ? "yank" : "unyank"}`;
    await sendLibraryCall({ method: "POST", path, ...(isYank && { body: new URLSearchParams({ reason }) }) });
    await queryClient.invalidateQueries();
    onClose();
  });
  return (
    <FormDialog title={`${verb}: ${library.name} ${version.version}`} send={verb} form={form} fields={NO_FIELDS} onClose={onClose}>
      <Text>
        {isYank
          ? "Clients install a yanked version only if they ask for exactly this version."
          : "Clients choose this version again by themselves."}
      </Text>
      {isYank && (
        <TextInput
          label="Reason"
          description="Clients show it to their users"
          data-autofocus
          value={form.values.reason}
          onChange={({ currentTarget }) => form.set("reason", currentTarget.value)}
        />
      )}
    </FormDialog>
  );
}

export function DeleteVersionButton(props: VersionActionProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton {...needs(props.library)} variant="outline" color="red" size="compact-xs" onClick={open}>
        Delete
      </ActionButton>
      {isOpen && <DeleteVersionDialog {...props} onClose={close} />}
    </>
  );
}

function DeleteVersionDialog({ library, version, onClose }: DialogProps) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const organization = useOrganization();
  const form = useForm({}, async () => {
    await sendLibraryCall({ method: "DELETE", path: `${pathOf(library, version)}/` });
    // With the last version goes the library.
    if (library.versionCount === 1) await navigate({ to: screenPath(organization, "/libraries"), search: {} });
    await queryClient.invalidateQueries();
    onClose();
  });
  const title = `Delete ${library.name} ${version.version}?`;
  return (
    <FormDialog title={title} send="Delete" isDangerous form={form} fields={NO_FIELDS} onClose={onClose}>
      <Text>Its files go with it, and builds that need them fail. This cannot be undone.</Text>
    </FormDialog>
  );
}

function needs({ uid, ecosystem }: Artifact) {
  return { capabilities: [ecosystemView(ecosystem).publish], uid };
}

/** Path of the version in the repository of its group. */
function pathOf({ uid, name, ecosystem }: Artifact, { version }: LibraryVersion): string {
  const view = ecosystemView(ecosystem);
  const root = repositoryPath(view, parentOf(uid));
  if (view.path === "python") return `${root}simple/${encodeURIComponent(name)}/${encodeURIComponent(version)}`;
  const [groupId = "", artifactId = ""] = name.split(":");
  return `${root}${[...groupId.split("."), artifactId, version].map(encodeURIComponent).join("/")}`;
}
