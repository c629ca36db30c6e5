/** The filters of a list, and the choice of its columns. */
import { Button, Checkbox, Popover, Select, Stack, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { ObjectField } from "../form/object-field.tsx";
import type { Search } from "../frame/search.ts";
import type { Filter } from "./filters.ts";

export interface FilterBarProps {
  readonly filters: readonly Filter[];
  readonly search: Search;
  readonly onChange: (changes: Search) => void;
}

/** A longer list of choices can be searched. */
const MAX_UNSEARCHED = 10;

export function FilterBar({ filters, search, onChange }: FilterBarProps) {
  const [isComplete, setComplete] = useState(false);
  const hasExtra = filters.some(({ isExtra }) => isExtra);
  const shown = filters.filter(({ id, isExtra = false }) => !isExtra || isComplete || search[id] !== undefined);
  return (
    <>
      {shown.map((filter) => (
        <FilterField key={filter.id} filter={filter} search={search} onChange={onChange} />
      ))}
      {hasExtra && (
        <Button variant="subtle" size="xs" aria-expanded={isComplete} onClick={() => setComplete(!isComplete)}>
          {isComplete ? "Fewer filters" : "More filters"}
        </Button>
      )}
    </>
  );
}

interface FilterFieldProps extends Pick<FilterBarProps, "search" | "onChange"> {
  readonly filter: Filter;
}

function FilterField({ filter, search, onChange }: FilterFieldProps) {
  const value = search[filter.id] ?? "";
  const change = (text: string) => onChange({ [filter.id]: text });
  if (filter.kind === "text") return <TypedFilter filter={filter} value={value} onChange={change} />;
  if (filter.kind !== "choice")
    return (
      <ObjectField kind={filter.kind} label={filter.title} size="xs" placeholder={filter.placeholder} value={value} onChange={change} />
    );
  return (
    <Select
      size="xs"
      label={filter.title}
      data={filter.choices.map(({ value, title }) => ({ value, label: title }))}
      value={search[filter.id] ?? null}
      placeholder={filter.placeholder ?? "All"}
      searchable={filter.choices.length > MAX_UNSEARCHED}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${filter.title}` }}
      onChange={(value) => onChange({ [filter.id]: value ?? "" })}
    />
  );
}

/** Waits until the person stops typing before it changes the address. */
const TYPING_MS = 250;

interface TypedFilterProps {
  readonly filter: Extract<Filter, { kind: "text" }>;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function TypedFilter({ filter, value, onChange }: TypedFilterProps) {
  const [typed, setTyped] = useState(value);
  // Values on their way to the address, oldest first.
  const reported = useRef<readonly string[]>([]);
  const report = useDebouncedCallback((text: string) => {
    if (text !== value) reported.current = [...reported.current, text];
    onChange(text);
  }, TYPING_MS);
  // The address follows what was typed, later and without spaces at its ends. Only other changes of it replace the input.
  useEffect(() => {
    const index = reported.current.indexOf(value);
    if (index === -1) setTyped(value);
    reported.current = index === -1 ? [] : reported.current.slice(index + 1);
  }, [value]);
  return (
    <TextInput
      size="xs"
      type="search"
      label={filter.title}
      placeholder={filter.placeholder}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        report(currentTarget.value.trim());
      }}
    />
  );
}

export interface ColumnMenuProps {
  readonly columns: readonly { readonly id: string; readonly title: string }[];
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (ids: readonly string[]) => void;
}

export function ColumnMenu({ columns, chosen, onChange }: ColumnMenuProps) {
  const toggled = (toggledId: string) => columns.map(({ id }) => id).filter((id) => chosen.has(id) !== (id === toggledId));
  return (
    <Popover position="bottom-end" shadow="md" trapFocus hideDetached={false}>
      <Popover.Target>
        <Button variant="default" size="xs">
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown p="xs" mah="60vh" style={{ overflowY: "auto" }}>
        <Stack gap="xs">
          {columns.map(({ id, title }) => (
            <Checkbox
              key={id}
              size="xs"
              label={title}
              checked={chosen.has(id)}
              disabled={chosen.has(id) && chosen.size === 1}
              onChange={() => onChange(toggled(id))}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
