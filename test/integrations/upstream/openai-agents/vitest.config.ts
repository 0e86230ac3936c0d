import { existsSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";

const tests = process.env["UPSTREAM_TESTS"] ?? "";
const isDurable = process.env["UPSTREAM_MODE"] === "durable";
const sdk = fileURLToPath(new URL("../../../../node_modules/@openai/agents-core/dist/", import.meta.url));
const source = fileURLToPath(new URL("../../../../src/", import.meta.url));
const stand = fileURLToPath(new URL("standIns/", import.meta.url));

/** The modules of the SDK whose exports are replaced by durable ones. */
const replaced = new Set(["index", "run", "memory/memorySession", "memory/index"]);

/** Resolves imports of the SDK's sources to the installed SDK, so that its tests run against it. */
const installedSdk: Plugin = {
  name: "installed-sdk",
  enforce: "pre",
  resolveId(specifier, importer = "") {
    const [, path = ""] = /^(?:\.\.\/)+src(?:\/(.*))?$/.exec(specifier) ?? [undefined, undefined];
    const isSource = importer.startsWith(tests) && /^(?:\.\.\/)+src(?:\/|$)/.test(specifier);
    if (!isSource) return undefined;
    const module = path.replace(/\.(?:js|ts|mjs)$/, "");
    const name = module === "" || existsSync(`${sdk}${module}/index.mjs`) ? posix.join(module, "index") : module;
    if (isDurable && replaced.has(name)) return `${stand}${name === "index" ? "index" : posix.basename(name)}.ts`;
    return `${sdk}${name}.mjs`;
  },
};

export default defineConfig({
  root: tests,
  plugins: [installedSdk],
  resolve: {
    preserveSymlinks: false,
    alias: [
      { find: /^agent-persistence$/, replacement: `${source}index.ts` },
      { find: /^agent-persistence\/(.+)$/, replacement: `${source}$1.ts` },
      { find: /^@openai\/agents-core$/, replacement: `${sdk}index.mjs` },
      { find: /^@openai\/agents-core\/utils\/internal$/, replacement: `${sdk}utils/internal.mjs` },
    ],
  },
  server: { fs: { strict: false } },
  test: {
    include: ["**/*.test.ts"],
    setupFiles: isDurable ? [`${stand}timers.ts`] : [],
    server: { deps: { inline: [/agents-core/] } },
    testTimeout: 20_000,
  },
});
