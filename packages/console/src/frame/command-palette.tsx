/** Ctrl-K: finds screens by a part of their title, and objects of the organization by a part of their name. */
import { Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from "@mantine/spotlight";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useState } from "react";
import type { Screen } from "../app/screens.ts";
import { commandPaletteStore } from "./command-palette-store.ts";
import { screenPath, useOrganization } from "./organization.ts";
import { useSearchHits } from "./search-hits.ts";

export default function CommandPalette({ screens }: { readonly screens: readonly Screen[] }) {
  const [typed, setTyped] = useState("");
  const organization = useOrganization();
  const { found, isSearching, error } = useSearchHits(organization, typed, screens);
  const navigate = useNavigate();
  const open = (path: string, uid?: string) => void navigate({ to: screenPath(organization, path, uid), search: {} });

  const listed: SpotlightActionData[] = screens
    .filter(({ section, title }) => section !== undefined && title.toLowerCase().includes(typed.trim().toLowerCase()))
    .map(({ path, title, section = "" }) => ({ id: path, label: title, description: section, onClick: () => open(path) }));
  const groups: SpotlightActionGroupData[] = [
    ...(listed.length === 0 ? [] : [{ group: "Screens", actions: listed }]),
    ...found.map(({ screen, hits }) => ({
      group: screen.title,
      actions: hits.map(({ uid, name, context }) => ({
        id: `${screen.path} ${uid}`,
        label: name,
        description: context,
        onClick: () => open(screen.path, uid),
      })),
    })),
  ];
  return (
    <Spotlight
      store={commandPaletteStore}
      actions={groups}
      // The search has compared the names already.
      filter={(_query, actions) => actions}
      query={typed}
      onQueryChange={setTyped}
      shortcut={null}
      highlightQuery
      scrollable
      maxHeight="60vh"
      nothingFound={nothingFound(isSearching, error)}
      attributes={{ content: { "aria-label": "Find" } }}
      searchProps={{ placeholder: "Find a screen, or anything by its name", "aria-label": "Find", onKeyDown: openFirstUnlessSelected }}
    />
  );
}

/** Enter opens the first entry while none is selected, as when hits arrive after the last key. */
function openFirstUnlessSelected({ key, nativeEvent, currentTarget }: KeyboardEvent): void {
  const palette = currentTarget.closest("[role=dialog]");
  if (key !== "Enter" || nativeEvent.isComposing || palette?.querySelector("[data-selected]")) return;
  palette?.querySelector<HTMLElement>("[data-action]")?.click();
}

function nothingFound(isSearching: boolean, error: unknown): string {
  if (isSearching) return "Searching…";
  return error === null ? "Nothing has this in its name." : "The search does not answer. Screens are found without it.";
}
