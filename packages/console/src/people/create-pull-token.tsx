/** Creates a pull token, and shows its password once, with the commands that use it. */
import { useMutation } from "@connectrpc/connect-query";
import { type PullToken, PullToken_Right, PullToken_RightSchema, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Checkbox, Stack, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { DaysField, daysFrom } from "../form/days-field.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { NAME_RULE } from "../form/name-fields.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { enumChoices } from "../object/enum-text.ts";
import { PullTokenSecret } from "./pull-token-secret.tsx";

const fields: ReadonlySet<string> = new Set(["name", "parent", "rights", "repositories", "ttl"]);

export function CreatePullTokenButton({ parent }: { readonly parent: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [created, setCreated] = useState<PullToken>();
  return (
    <>
      <ActionButton method={PullTokensService.method.createPullToken} uid={parent} size="xs" onClick={open}>
        New pull token
      </ActionButton>
      {isOpen && <CreatePullTokenDialog parent={parent} onCreated={setCreated} onClose={close} />}
      {created !== undefined && <PullTokenSecret token={created} onClose={() => setCreated(undefined)} />}
    </>
  );
}

interface CreatePullTokenDialogProps {
  readonly parent: string;
  readonly onCreated: (token: PullToken) => void;
  readonly onClose: () => void;
}

function CreatePullTokenDialog({ parent, onCreated, onClose }: CreatePullTokenDialogProps) {
  const create = useMutation(PullTokensService.method.createPullToken);
  const initial = { name: "", parent, rights: DEFAULT_RIGHTS, repositories: "", days: "30" };
  const form = useForm(initial, async ({ name, parent: group, rights, repositories, days }) => {
    const paths = repositories.split("\n").map((line) => line.trim());
    const pullToken = {
      name,
      rights: rights.map((right) => Number(right) as PullToken_Right),
      repositories: paths.filter((path) => path !== ""),
      ttl: daysFrom(days),
    };
    onCreated(await create.mutateAsync({ parent: group, pullToken }));
    onClose();
  });
  const { values, set, violation } = form;
  return (
    <FormDialog title="New pull token" send="Create" form={form} fields={fields} onClose={onClose}>
      <TextInput
        label="Name"
        description={`The machine that will use it. ${NAME_RULE}`}
        required
        data-autofocus
        value={values.name}
        error={violation("name")}
        onChange={({ currentTarget }) => set("name", currentTarget.value)}
      />
      <Checkbox.Group
        label="Rights"
        required
        value={[...values.rights]}
        error={violation("rights")}
        onChange={(rights) => set("rights", rights)}
      >
        <Stack gap="xs" mt="xs">
          {enumChoices(PullToken_RightSchema).map(({ value, title }) => (
            <Checkbox key={value} value={value} label={title} />
          ))}
        </Stack>
      </Checkbox.Group>
      <DaysField value={values.days} error={violation("ttl")} onChange={(days) => set("days", days)} />
      <Textarea
        label="Only these repositories"
        description="Paths from the group, one per line; all if empty"
        value={values.repositories}
        error={violation("repositories")}
        onChange={({ currentTarget }) => set("repositories", currentTarget.value)}
      />
      <GroupField value={values.parent} error={violation("parent")} onChange={(uid) => set("parent", uid)} />
    </FormDialog>
  );
}

const DEFAULT_RIGHTS: readonly string[] = [String(PullToken_Right.IMAGES_PULL)];
