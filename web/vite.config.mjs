// The page is three files with fixed names, built the same way every time: nothing of the machine or the moment goes in.
import { defineConfig } from "vite";

const server = process.env.UNSPOOL_SERVER ?? "http://127.0.0.1:4680";

export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: process.env.UNSPOOL_PAGE_OUT ?? "../crates/unspool-server/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
        codeSplitting: false,
      },
    },
  },
  // For development: `npx vite` shows the sources as they are, with the data of a running server.
  server: { proxy: Object.fromEntries(["/api", "/v1"].map((path) => [path, { target: server, changeOrigin: true, headers: { origin: server } }])) },
});
