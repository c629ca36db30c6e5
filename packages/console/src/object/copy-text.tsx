/** A text to copy: a uid, a command. */
import { Button, Code, CopyButton, Group } from "@mantine/core";
import classes from "./copy-text.module.css";

export interface CopyTextProps {
  /** Names the text for screen readers: "uid". */
  readonly label: string;
  readonly text: string;
  readonly isBlock?: boolean;
}

export function CopyText({ label, text, isBlock = false }: CopyTextProps) {
  return (
    <Group gap="xs" wrap={isBlock ? "wrap" : "nowrap"} align="center">
      <Code block={isBlock} tabIndex={isBlock ? 0 : undefined} className={classes.code} style={{ flex: isBlock ? 1 : undefined }}>
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button
            size="compact-xs"
            variant="default"
            onClick={copy}
            aria-label={`${copied ? "Copied" : "Copy"} ${label}`}
            style={{ flexShrink: 0 }}
          >
            {copied ? "Copied" : "Copy"}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}
