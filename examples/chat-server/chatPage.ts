import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Bundles the page for browsers. */
export async function chatPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("page.jsx", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputFiles[0]?.text ?? "";
}
