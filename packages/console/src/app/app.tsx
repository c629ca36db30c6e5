/** The whole application: theme, transport, cache of answers, router. */
import { TransportProvider } from "@connectrpc/connect-query";
import { MantineProvider } from "@mantine/core";
import "@mantine/core/styles.css";
import "@mantine/spotlight/styles.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { queryClient, transport } from "../session/transport.ts";
import "./app.css";
import { router } from "./router.tsx";
import { adaptedColors, theme } from "./theme.ts";

/** The server admits styles with this nonce only. React and the component library write it on their style elements. */
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
// The library that locks the page behind a dialog reads its nonce here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

export function App() {
  return (
    <MantineProvider theme={theme} cssVariablesResolver={adaptedColors} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <TransportProvider transport={transport}>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </TransportProvider>
    </MantineProvider>
  );
}
