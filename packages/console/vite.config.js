// Builds the console, and serves it with reloading while a server of Holt answers everything else.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The address of the running server, for `npm run dev`. */
const server = process.env.HOLT_BASE_URL ?? "http://127.0.0.1:8080";

export default defineConfig(({ command }) => ({
  base: "/console/",
  plugins: [react()],
  // The server puts a new nonce here in each page (packages/server/src/console/console.ts).
  ...(command === "build" && { html: { cspNonce: "CSP_NONCE" } }),
  build: { target: "es2022", assetsInlineLimit: 0, reportCompressedSize: false, manifest: "manifest.json" },
  server: { port: 5173, strictPort: true, proxy: { "^/(?!console)": server } },
}));
