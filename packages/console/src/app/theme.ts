/** Colors and fonts. The shades are those that are readable on the backgrounds where the library uses them (WCAG 2.2, 1.4.3). */
import { type CSSVariablesResolver, createTheme } from "@mantine/core";
import { ButtonRoot } from "./button-root.tsx";

export const theme = createTheme({
  primaryColor: "blue",
  primaryShade: { light: 8, dark: 8 },
  fontFamily: "system-ui, sans-serif",
  fontFamilyMonospace: "ui-monospace, monospace",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { renderRoot: ButtonRoot } },
    // The header of a dialog is not the banner of the page.
    ModalHeader: { defaultProps: { role: "presentation" } },
    // A menu has items alone as its children; the first of them gets the focus.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
  },
});

export const adaptedColors: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#565d65",
    "--mantine-color-placeholder": "#6b727a",
    "--mantine-color-error": "#b42323",
    "--mantine-color-anchor": "#1864ab",
    "--mantine-color-blue-light-hover": "#c5e5ff",
  },
  dark: {
    "--mantine-color-dimmed": "#b3b9c0",
    "--mantine-color-placeholder": "#9aa1a9",
    "--mantine-color-error": "#ff9b9b",
    "--mantine-color-anchor": "#8ec5ff",
  },
});
