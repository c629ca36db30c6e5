/** Opens the command palette from anywhere, without its code being there yet. */
import { createSpotlight } from "@mantine/spotlight";

const [store, actions] = createSpotlight();
export const commandPaletteStore = store;
export const openCommandPalette: () => void = actions.open;
