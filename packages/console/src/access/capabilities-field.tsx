/** Capabilities to choose, by domain. Typing narrows the list; a domain is chosen as a whole with its own check box. */
import { Checkbox, Group, Input, ScrollArea, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { assignableCapabilities, type NamedCapability } from "./capabilities.ts";

export interface CapabilitiesFieldProps {
  readonly value: readonly number[];
  readonly error?: string;
  readonly onChange: (capabilities: readonly number[]) => void;
}

export function CapabilitiesField({ value, error, onChange }: CapabilitiesFieldProps) {
  const [sought, setSought] = useState("");
  const chosen = new Set(value);
  const matching = assignableCapabilities.filter(({ name }) => name.includes(sought.trim().toLowerCase()));
  const domains = [...Map.groupBy(matching, ({ domain }) => domain)];
  const set = (changed: readonly NamedCapability[], isChosen: boolean) => {
    const numbers = new Set(changed.map(({ capability }) => capability as number));
    onChange([...value.filter((number) => !numbers.has(number)), ...(isChosen ? numbers : [])]);
  };
  return (
    <Input.Wrapper label={`Capabilities: ${chosen.size} chosen`} labelElement="div" error={error} required>
      <TextInput
        mt="xs"
        type="search"
        aria-label="Find a capability"
        placeholder="A part of the name, such as list"
        value={sought}
        onChange={({ currentTarget }) => setSought(currentTarget.value)}
      />
      <ScrollArea.Autosize mah="20rem" mt="xs" type="auto" viewportProps={{ tabIndex: 0, role: "group", "aria-label": "Capabilities" }}>
        <Stack gap="sm">
          {domains.map(([domain, each]) => (
            <Domain key={domain} domain={domain} capabilities={each} chosen={chosen} onChange={set} />
          ))}
        </Stack>
      </ScrollArea.Autosize>
    </Input.Wrapper>
  );
}

interface DomainProps {
  readonly domain: string;
  readonly capabilities: readonly NamedCapability[];
  readonly chosen: ReadonlySet<number>;
  readonly onChange: (changed: readonly NamedCapability[], isChosen: boolean) => void;
}

function Domain({ domain, capabilities, chosen, onChange }: DomainProps) {
  const count = capabilities.filter(({ capability }) => chosen.has(capability)).length;
  const isWhole = count === capabilities.length;
  return (
    <div>
      <Checkbox
        label={domain}
        fw={600}
        checked={isWhole}
        indeterminate={count > 0 && !isWhole}
        onChange={() => onChange(capabilities, !isWhole)}
      />
      <Group gap="md" ml="xl" mt={4}>
        {capabilities.map((each) => (
          <Checkbox
            key={each.name}
            size="xs"
            label={each.action}
            aria-label={each.name}
            checked={chosen.has(each.capability)}
            onChange={({ currentTarget }) => onChange([each], currentTarget.checked)}
          />
        ))}
      </Group>
    </div>
  );
}
