import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type GetModuleInfo, rollup } from "rollup";
import { defineConfig, type Options } from "tsup";

type Plugin = NonNullable<Options["esbuildPlugins"]>[number];
type Esbuild = Parameters<Plugin["setup"]>[0]["esbuild"];

export default defineConfig({
  entry: [
    "src/index.ts",
    "src/errors.ts",
    "src/transfer.ts",
    "src/backup.ts",
    "src/file.ts",
    "src/sqlite.ts",
    "src/postgres.ts",
    "src/dynamodb.ts",
    "src/s3.ts",
    "src/feature.ts",
    "src/storage.ts",
    "src/task.ts",
    "src/workspace.ts",
    "src/coding.ts",
    "src/inspect.ts",
    "src/timeline.ts",
    "src/replay.ts",
    "src/ai-sdk.ts",
    "src/openai-agents.ts",
    "src/langgraph.ts",
    "src/mcp.ts",
    "src/otel.ts",
    "src/streams.ts",
    "src/testing.ts",
    "src/webhook.ts",
    "src/encryption.ts",
    "src/seals.ts",
    "src/cli/bin.ts",
    "src/cli/main.ts",
  ],
  format: "esm",
  target: "node20",
  dts: true,
  clean: true,
  esbuildPlugins: [besideTheCode()],
  plugins: [
    {
      name: "merged-chunks",
      async buildEnd() {
        if (this.options.outDir && this.format === "esm") await mergeChunks(this.options.outDir);
      },
    },
  ],
});

/**
 * The code that the root loads at its start, in the order of the floors, by the entries that share it. Each part becomes
 * one file, because reading 60 small files takes longer than running them. `errors` contains no code of zod, so that
 * the command line loads zod only for a command.
 */
const sharedParts: Readonly<Record<string, readonly string[]>> = {
  errors: ["errors", "cli/main"],
  storage: ["file", "sqlite", "postgres", "dynamodb", "storage", "inspect", "transfer"],
  journal: ["langgraph"],
  agent: ["index"],
};

/** Merges the chunks of built entries that the root loads at its start. All other chunks stay as they are. */
export async function mergeChunks(outDir: string): Promise<void> {
  const folder = resolve(outDir);
  const built = (await readdir(folder, { recursive: true })).filter((file) => /^(?!timeline-page).*\.js$/.test(file));
  const entries = built.filter((file) => !basename(file).startsWith("chunk-"));
  const bundle = await rollup({
    input: Object.fromEntries(entries.map((file) => [file.slice(0, -".js".length), join(folder, file)])),
    external: (id) => !/^[./]/.test(id),
    treeshake: false,
  });
  let parts: ReadonlyMap<string, string> | undefined;
  const { output } = await bundle.generate({
    dir: folder,
    chunkFileNames: "chunk-[name]-[hash].js",
    hoistTransitiveImports: false,
    minifyInternalExports: false,
    manualChunks: (id, { getModuleInfo }) => (parts ??= partsOf(folder, getModuleInfo)).get(id),
  });
  await bundle.close();
  for (const file of built) await rm(join(folder, file));
  for (const chunk of output) if (chunk.type === "chunk") await writeFile(join(folder, chunk.fileName), chunk.code);
}

/** Returns the part of each module that the root loads at its start. */
function partsOf(folder: string, getModuleInfo: GetModuleInfo): ReadonlyMap<string, string> {
  const loadedBy = (entry: string) => {
    const found = new Set([join(folder, `${entry}.js`)]);
    for (const id of found)
      for (const imported of getModuleInfo(id)?.importedIds ?? []) if (imported.startsWith("/")) found.add(imported);
    return [...found];
  };
  const ofRoot = new Set(loadedBy("index").slice(1));
  const parts = new Map<string, string>();
  for (const [part, entries] of Object.entries(sharedParts))
    for (const id of entries.flatMap(loadedBy)) if (ofRoot.has(id) && !parts.has(id)) parts.set(id, part);
  return parts;
}

/** The timeline's page is built into a folder beside the code that reads it. */
function besideTheCode(): Plugin {
  return {
    name: "timeline-page",
    setup: (build) => {
      build.onEnd(() => buildTimelinePage(build.esbuild, `${build.initialOptions.outdir}/timeline-page`));
    },
  };
}

/** Builds the script and the style of the timeline's page. The package that the page contains wants its license kept. */
export async function buildTimelinePage({ build }: Pick<Esbuild, "build">, folder: string): Promise<void> {
  const license = await readFile(new URL("node_modules/preact/LICENSE", import.meta.url), "utf8");
  await build({
    entryPoints: { page: new URL("src/timeline/page/main.tsx", import.meta.url).pathname },
    outdir: folder,
    bundle: true,
    minify: true,
    format: "iife",
    platform: "browser",
    target: ["chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    banner: { js: `/* Contains Preact.\n${license}*/` },
  });
}
