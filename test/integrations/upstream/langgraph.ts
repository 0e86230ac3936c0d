import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";
import { keepTemporaryFilesInMemory } from "../../keepTemporaryFilesInMemory.ts";

/**
 * Runs the tests of LangGraph.js with `PersistenceSaver` in place of `MemorySaver`, and prints the counts:
 * `node --import tsx test/integrations/upstream/langgraph.ts <checkout> [memory|file|sqlite|MemorySaver] [filter…]`.
 * The checkout is a folder or a git directory of langchain-ai/langgraphjs. `MemorySaver` runs the tests as they are.
 */
const [, , checkout, storage = "memory", ...filters] = process.argv;
if (checkout === undefined) throw new Error("expected a checkout of langchain-ai/langgraphjs as the first argument");

keepTemporaryFilesInMemory();
const root = fileURLToPath(new URL("../../../", import.meta.url));
const tested = "libs/langgraph-core/src";
const folder = mkdtempSync(join(tmpdir(), "langgraphjs-"));
mkdirSync(join(folder, "temporary"));
process.env["TMPDIR"] = join(folder, "temporary");
process.env["UPSTREAM_STORAGE"] = storage;
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

extract(resolve(checkout));
symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
const replaced = /^@langchain\/langgraph-checkpoint(-sqlite)?$/;
const replacement = fileURLToPath(new URL("MemorySaver.ts", import.meta.url));

const vitest = await startVitest(
  "test",
  filters,
  {
    root: join(folder, tested, ".."),
    config: false,
    watch: false,
    globals: true,
    testTimeout: 30_000,
    maxWorkers: 2,
    reporters: ["dot"],
    hideSkippedTests: true,
    include: ["src/**/*.test.ts"],
    exclude: ["**/*.int.test.ts"],
    setupFiles: ["src/tests/setup.node.ts", "src/tests/matchers/setup.ts"],
  },
  {
    resolve: {
      alias: [
        { find: /^agent-persistence$/, replacement: join(root, "src/index.ts") },
        { find: /^agent-persistence\/(.+)$/, replacement: join(root, "src/$1.ts") },
      ],
    },
    plugins: [
      {
        name: "saver",
        enforce: "pre",
        resolveId: (id, importer) => (replaced.test(id) && importer?.startsWith(folder) ? replacement : undefined),
      },
    ],
  },
);
const results = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
const named = (state: string) => results.filter((test) => test.result().state === state);
for (const test of named("failed")) console.log(`failed: ${test.module.relativeModuleId} > ${test.fullName}`);
console.log(`${storage}: ${results.length} tests, ${named("passed").length} passed, ${named("failed").length} failed`);
await vitest.close();

function extract(source: string): void {
  if (existsSync(join(source, tested))) return cpSync(join(source, tested), join(folder, tested), { recursive: true });
  const archive = execFileSync("git", ["--git-dir", source, "archive", "HEAD", tested], { maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
}
