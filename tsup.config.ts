import { readFileSync } from "node:fs";
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
  ],
  format: "esm",
  target: "node20",
  dts: true,
  clean: true,
  esbuildPlugins: [besideTheCode()],
});

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
  const license = readFileSync(new URL("node_modules/preact/LICENSE", import.meta.url), "utf8");
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
