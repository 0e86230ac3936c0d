import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const soak = process.env["SOAK"] !== undefined;
const resultFile = process.env["TEST_RESULT_FILE"];

/**
 * `SOAK` asks the suites for their full counts. `TEST_RESULT_FILE` names a file that gets the result as JSON, so that
 * a script can count without changing the command people run.
 */
export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  resolve: {
    alias: [
      { find: /^agent-persistence$/, replacement: `${source}index.ts` },
      { find: /^agent-persistence\/(.+)$/, replacement: `${source}$1.ts` },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    // The default leaves one core idle.
    maxWorkers: availableParallelism(),
    testTimeout: soak ? 900_000 : 180_000,
    hookTimeout: 120_000,
    reporters: resultFile === undefined ? ["default"] : ["default", ["json", { outputFile: resultFile }]],
  },
});
