/** Sets of filters that a person keeps under a name, in this browser. */
import { Button, CloseButton, Group, Popover, Stack, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useOrganization } from "../frame/organization.ts";
import { type Search, useSearchState } from "../frame/search.ts";
import type { Filter } from "./filters.ts";

export interface SavedFiltersProps {
  /** Names the list in the storage of the browser. */
  readonly list: string;
  readonly filters: readonly Filter[];
}

interface SavedFilter {
  readonly name: string;
  readonly search: Search;
}

export function SavedFilters({ list, filters }: SavedFiltersProps) {
  const [saved, save] = useLocalStorage<SavedFilter[]>({ key: `holt-filters-${useOrganization()}-${list}`, defaultValue: [] });
  const [search] = useSearchState();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const current = Object.fromEntries(Object.entries(search).filter(([key]) => key === "order" || filters.some(({ id }) => id === key)));
  const add = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === "") return;
    save([...saved.filter((each) => each.name !== name.trim()), { name: name.trim(), search: current }]);
    setName("");
  };
  return (
    <Popover position="bottom-end" shadow="md" width="18rem" trapFocus>
      <Popover.Target>
        <Button variant="default" size="xs">
          Saved filters
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          {saved.map((each) => (
            <Group key={each.name} gap="xs" wrap="nowrap" justify="space-between">
              <Button variant="subtle" size="xs" onClick={() => void navigate({ to: ".", search: each.search })}>
                <bdi>{each.name}</bdi>
              </Button>
              <CloseButton aria-label={`Forget ${each.name}`} onClick={() => save(saved.filter((other) => other !== each))} />
            </Group>
          ))}
          <form onSubmit={add}>
            <Stack gap="xs">
              <TextInput
                size="xs"
                label="Save the filters as"
                value={name}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
              />
              <Button size="xs" type="submit" disabled={Object.keys(current).length === 0}>
                Save
              </Button>
            </Stack>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
