/** Opens the command palette, for people who do not know its keys. */
import { Button, Kbd } from "@mantine/core";
import { openCommandPalette } from "./command-palette-store.ts";
import classes from "./layout.module.css";

export function CommandPaletteButton() {
  return (
    <Button variant="default" size="xs" className={classes.palette} onClick={openCommandPalette} aria-keyshortcuts="Control+K">
      Find
      <Kbd size="xs" ml="xs" className={classes.keys} aria-hidden>
        Ctrl K
      </Kbd>
    </Button>
  );
}
