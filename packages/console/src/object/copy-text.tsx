/** A text to copy: a uid, a command. */
import { Button, Code, CopyButton, Group } from "@mantine/core";

export interface CopyTextProps {
  /** Names the text for screen readers: "uid". */
  readonly label: string;
  readonly text: string;
  readonly isBlock?: boolean;
}

export function CopyText({ label, text, isBlock = false }: CopyTextProps) {
  return (
    <Group gap="xs" wrap={isBlock ? "wrap" : "nowrap"} align="center">
      <Code
        block={isBlock}
        tabIndex={isBlock ? 0 : undefined}
        style={{ flex: isBlock ? 1 : undefined, minWidth: 0, overflowWrap: "anywhere" }}
      >
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button size="compact-xs" variant="default" onClick={copy} aria-label={`Copy ${label}`}>
            {copied ? "Copied" : "Copy"}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}
