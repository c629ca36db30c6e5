/** Takes files by drag and drop, or by a button for people without a pointer. */
import { Button, FileButton, Paper, Text } from "@mantine/core";
import { type DragEvent, useRef, useState } from "react";

export interface FileDropProps {
  /** Says which files are wanted. */
  readonly hint: string;
  readonly isMultiple?: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

export function FileDrop({ hint, isMultiple = false, onFiles }: FileDropProps) {
  const [isOver, setOver] = useState(false);
  const forget = useRef<() => void>(null);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const files = [...event.dataTransfer.files];
    if (files.length > 0) onFiles(isMultiple ? files : files.slice(0, 1));
  };
  return (
    <Paper
      withBorder
      p="md"
      ta="center"
      style={{ borderStyle: "dashed", borderWidth: isOver ? 2 : 1 }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Text size="sm" mb="xs">
        {hint}
      </Text>
      <FileButton
        multiple={isMultiple as true}
        resetRef={forget}
        onChange={(chosen: File[] | File | null) => {
          // Otherwise the browser does not report a file that is removed and chosen again.
          forget.current?.();
          onFiles(chosen === null ? [] : [chosen].flat());
        }}
        inputProps={{ "aria-label": isMultiple ? "Files" : "File" }}
      >
        {(props) => (
          <Button {...props} variant="default" size="xs">
            {isMultiple ? "Choose files" : "Choose a file"}
          </Button>
        )}
      </FileButton>
    </Paper>
  );
}
