import { build } from "esbuild";
import { Miniflare } from "miniflare";

// Runs the worker in workerd, asks it once, and prints the answer. Arguments: the directory of the data, and the path.
const [directory, path] = process.argv.slice(2);
const { outputFiles } = await build({
  bundle: true,
  conditions: ["workerd", "worker", "browser"],
  entryPoints: ["worker.mjs"],
  external: ["cloudflare:workers"],
  format: "esm",
  target: "es2022",
  write: false,
});
const miniflare = new Miniflare({
  compatibilityDate: "2026-01-01",
  durableObjects: { AGENTS: { className: "AgentObject", useSQLite: true } },
  durableObjectsPersist: directory,
  modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0].text }],
});
const response = await miniflare.dispatchFetch(`http://worker${path}`);
console.log(await response.text());
await miniflare.dispose();
