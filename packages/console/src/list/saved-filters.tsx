/** Sets of filters that a person keeps under a name, on the server. Nobody else sees them. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { SavedFiltersService } from "@holt/api/gen/holt/v1/saved_filters_pb.ts";
import { Button, CloseButton, Group, Popover, Stack, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { isFocusLost } from "../frame/focus-return.ts";
import { useOrganization } from "../frame/organization.ts";
import { parseSearch, stringifySearch, useSearchState } from "../frame/search.ts";
import { useRights } from "../session/rights.ts";
import type { Filter } from "./filters.ts";

export interface SavedFiltersProps {
  /** Names the list. */
  readonly list: string;
  readonly filters: readonly Filter[];
}

const { listSavedFilters, saveFilter, deleteSavedFilter } = SavedFiltersService.method;

/** Nothing for a person without rights in the whole organization: filters are saved there. */
export function SavedFilters(props: SavedFiltersProps) {
  const isAllowed = useRights().may(listSavedFilters, useOrganization());
  return isAllowed ? <SavedFiltersMenu {...props} /> : null;
}

function SavedFiltersMenu({ list, filters }: SavedFiltersProps) {
  const uid = useOrganization();
  const saved = useQuery(listSavedFilters, { uid, list });
  const save = useMutation(saveFilter);
  const forget = useMutation(deleteSavedFilter);
  const [search] = useSearchState();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const field = useRef<HTMLInputElement>(null);
  // The button that forgets a set goes away with it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for each change of the sets
  useEffect(() => {
    if (isFocusLost()) field.current?.focus();
  }, [saved.data]);
  const current = Object.fromEntries(Object.entries(search).filter(([key]) => key === "order" || filters.some(({ id }) => id === key)));
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === "") return;
    // Without its question mark.
    const query = stringifySearch(current).slice(1);
    await save.mutateAsync({ uid, list, savedFilter: { name: name.trim(), query } }).then(
      () => setName(""),
      () => {},
    );
  };
  const error = saved.error ?? save.error ?? forget.error;
  return (
    <Popover position="bottom-end" shadow="md" width="18rem" trapFocus hideDetached={false}>
      <Popover.Target>
        <Button variant="default" size="xs">
          Saved filters
        </Button>
      </Popover.Target>
      <Popover.Dropdown mah="60vh" style={{ overflowY: "auto" }}>
        <Stack gap="xs">
          {(saved.data?.savedFilters ?? []).map((each) => (
            <Group key={each.name} gap="xs" wrap="nowrap" justify="space-between">
              <Button variant="subtle" size="xs" onClick={() => void navigate({ to: ".", search: parseSearch(each.query) })}>
                <bdi>{each.name}</bdi>
              </Button>
              <CloseButton aria-label={`Forget ${each.name}`} onClick={() => forget.mutate({ uid, list, name: each.name })} />
            </Group>
          ))}
          <form onSubmit={(event) => void add(event)}>
            <Stack gap="xs">
              <TextInput
                ref={field}
                size="xs"
                label="Save the filters as"
                value={name}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
              />
              <Button size="xs" type="submit" loading={save.isPending} disabled={Object.keys(current).length === 0}>
                Save
              </Button>
            </Stack>
          </form>
          {error !== null && <ErrorAlert error={error} />}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
