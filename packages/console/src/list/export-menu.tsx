/** The button that exports a list, with progress and a way to stop. */
import { Button, Group, Menu, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { isFocusLost } from "../frame/focus-return.ts";
import { type ExportFormat, saveFile } from "./export.ts";

export interface ExportMenuProps {
  /** Name of the file without its extension. */
  readonly name: string;
  readonly total: number | undefined;
  readonly run: (format: ExportFormat, signal: AbortSignal, onProgress: (count: number) => void) => Promise<Blob>;
}

export function ExportMenu({ name, total, run }: ExportMenuProps) {
  const [count, setCount] = useState<number>();
  const [error, setError] = useState<unknown>();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const isRunning = count !== undefined;
  const button = useRef<HTMLButtonElement>(null);
  const wasRunning = useRef(isRunning);
  // One button replaces the other one, which had the focus.
  useEffect(() => {
    if (wasRunning.current !== isRunning && isFocusLost()) button.current?.focus();
    wasRunning.current = isRunning;
  }, [isRunning]);

  async function start(format: ExportFormat): Promise<void> {
    const controller = new AbortController();
    abort.current = controller;
    setError(undefined);
    setCount(0);
    try {
      saveFile(await run(format, controller.signal, setCount), `${name}.${format}`);
    } catch (thrown) {
      if (!controller.signal.aborted) setError(thrown);
    } finally {
      setCount(undefined);
    }
  }

  if (isRunning)
    return (
      <Group gap="xs" role="status">
        <Text size="sm">
          Exporting: {count}
          {total !== undefined && ` of ${total}`}
        </Text>
        <Button ref={button} variant="default" size="xs" onClick={() => abort.current?.abort()}>
          Cancel
        </Button>
      </Group>
    );
  return (
    <>
      <Menu position="bottom-end" shadow="md">
        <Menu.Target>
          <Button ref={button} variant="default" size="xs">
            Export
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void start("csv")}>All pages as CSV</Menu.Item>
          <Menu.Item onClick={() => void start("json")}>All pages as JSON</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {error !== undefined && <ErrorAlert error={error} title="The export stopped" />}
    </>
  );
}
