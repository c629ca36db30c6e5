/** A text to copy: a uid, a command. */
import { Button, Code, Group } from "@mantine/core";
import { useTimeout } from "@mantine/hooks";
import { useRef, useState } from "react";
import classes from "./copy-text.module.css";

export interface CopyTextProps {
  /** Names the text for screen readers: "uid". */
  readonly label: string;
  readonly text: string;
  readonly isBlock?: boolean;
}

export function CopyText({ label, text, isBlock = false }: CopyTextProps) {
  const code = useRef<HTMLElement>(null);
  const [isCopied, setCopied] = useState(false);
  const { start } = useTimeout(() => setCopied(false), COPIED_MS);
  const copy = async () => {
    setCopied(await isWritten(text, code.current));
    start();
  };
  return (
    <Group gap="xs" wrap={isBlock ? "wrap" : "nowrap"} align="center">
      <Code
        ref={code}
        block={isBlock}
        tabIndex={isBlock ? 0 : undefined}
        className={classes.code}
        style={{ flex: isBlock ? 1 : undefined }}
      >
        {text}
      </Code>
      <Button
        size="compact-xs"
        variant="default"
        onClick={() => void copy()}
        aria-label={`${isCopied ? "Copied" : "Copy"} ${label}`}
        style={{ flexShrink: 0 }}
      >
        {isCopied ? "Copied" : "Copy"}
      </Button>
    </Group>
  );
}

const COPIED_MS = 1000;

/** Browsers have a clipboard over HTTPS and on `localhost` only. Elsewhere, the shown text is selected and copied as by keys. */
async function isWritten(text: string, shown: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (shown !== null) getSelection()?.selectAllChildren(shown);
    // The selection stays, so that a person can copy it by keys where this is refused, too.
    return document.execCommand("copy");
  }
}
