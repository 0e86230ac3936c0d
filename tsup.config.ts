import { defineConfig } from "tsup";

export default defineConfig({
  entry: [
    "src/index.ts",
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
    "src/ai-sdk.ts",
    "src/openai-agents.ts",
    "src/langgraph.ts",
    "src/testing.ts",
    "src/cli.ts",
  ],
  format: "esm",
  target: "node20",
  dts: true,
  clean: true,
});
