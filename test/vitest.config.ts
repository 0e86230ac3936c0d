import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { keepTemporaryFilesInMemory } from "./keepTemporaryFilesInMemory.ts";
import { soak, wholeSoak } from "./soak/cases.ts";
import { soakOnly, soakSuites } from "./soak/soakSuites.ts";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const builtPackage = process.env["PACKAGE"] !== undefined;
const resultFile = process.env["TEST_RESULT_FILE"];

/** These replace a module, which no other file may see. */
const replacingModules = ["test/powerloss/store/brokenCopyTail.test.ts", "test/workspace/files/otherDrive.test.ts"];
const globalSetup = ["test/storage/postgres/server/serveOnDemand.ts", "test/timeline/buildPage.ts"];
/** These read `dist`, or compile against every entry. */
const packageChecks = [
  "test/package/builtPackage.test.ts",
  "test/package/packedFiles.test.ts",
  "test/package/docs/documentation.test.ts",
];
const exclude = [
  "**/node_modules/**",
  ...replacingModules,
  ...(builtPackage ? [] : packageChecks),
  ...(soak ? [] : [`**/*${soakOnly}`]),
];
const include = includedSuites();

function includedSuites(): string[] {
  if (builtPackage) return packageChecks;
  if (!soak) return ["test/**/*.test.ts"];
  return soakSuites(fileURLToPath(new URL(".", import.meta.url)), Number(process.env["SOAK"]));
}

// A whole soak uses the device, as users do.
if (!wholeSoak) keepTemporaryFilesInMemory();

/**
 * `SOAK` runs the suites that have more cases for a soak. `PACKAGE` runs the checks of the built package.
 * `TEST_RESULT_FILE` names a file for the result as JSON, which `.ci/run` counts.
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
    // Loading the sources takes longer than most files' tests: a worker loads them once, for all its files.
    projects: [
      { extends: true, test: { name: "shared modules", isolate: false, include, exclude, globalSetup } },
      { extends: true, test: { name: "own modules", include: soak || builtPackage ? [] : replacingModules } },
    ],
    // The default leaves one core idle. Many tests wait for the disk, and leave another worker their core.
    maxWorkers: availableParallelism() + 1,
    // Most objects of a test live shortly. With more space for them, collections take less of the processor.
    execArgv: ["--max-semi-space-size=64"],
    setupFiles: ["test/seedProperties.ts", "test/starter/startGitFromSmallProcess.ts"],
    // These find what hangs. A slow machine must not reach them.
    testTimeout: soak ? 3_600_000 : 900_000,
    hookTimeout: 900_000,
    expect: { poll: { interval: 5, timeout: 600_000 } },
    reporters: resultFile === undefined ? ["default"] : ["default", ["json", { outputFile: resultFile }]],
  },
});
