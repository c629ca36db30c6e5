/** Ctrl-K: finds screens by a part of their title. */
import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { useNavigate } from "@tanstack/react-router";
import type { Screen } from "../app/screens.ts";
import { commandPaletteStore } from "./command-palette-store.ts";
import { screenPath, useOrganization } from "./organization.ts";

export default function CommandPalette({ screens }: { readonly screens: readonly Screen[] }) {
  const navigate = useNavigate();
  const organization = useOrganization();
  const actions: SpotlightActionData[] = screens
    .filter(({ section }) => section !== undefined)
    .map(({ path, title, section = "" }) => ({
      id: path,
      label: title,
      description: section,
      onClick: () => void navigate({ to: screenPath(organization, path), search: {} }),
    }));
  return (
    <Spotlight
      store={commandPaletteStore}
      actions={actions}
      shortcut="mod + K"
      highlightQuery
      nothingFound="No screen has this in its title."
      searchProps={{ placeholder: "Find a screen", "aria-label": "Find a screen" }}
    />
  );
}
