/** `vite build` makes the page, and `vite build --ssr killed.mjs` a server that contains all its packages. */
export default ({ isSsrBuild }) => ({
  build: {
    outDir: isSsrBuild ? "server" : "page",
    target: "es2022",
    // Preloads need a document, and the check of the page runs in Node.
    modulePreload: false,
    reportCompressedSize: false,
  },
  ssr: { noExternal: true },
});
