import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin } from "vite";
import { startVitest } from "vitest/node";

/**
 * Runs the tests of `generateText` and `streamText` of the AI SDK 7, and again with durable models and tools:
 *
 *   node --import tsx test/integrations/upstream/ai-sdk/run.ts <folder or git directory of vercel/ai>
 */
const functions: Readonly<Record<string, string>> = { "generate-text": "generateText", "stream-text": "streamText" };
const parts = ["ai", "gateway", "provider", "provider-utils", "test-server"].map((name) => `packages/${name}`);

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const [checkout] = process.argv.slice(2);
if (checkout === undefined) throw new Error("Pass the folder or the git directory of a checkout of vercel/ai.");
const home = mkdtempSync(join(tmpdir(), "ai-sdk-upstream-"));
const root = join(import.meta.dirname, "../../../..");
const source = join(home, "packages/ai/src/generate-text");
try {
  extract(checkout);
  const [alone, durable] = [await passedTests("sdk"), await passedTests("durable")];
  const differing = alone.filter((name) => !durable.includes(name));
  console.log(`The SDK passes ${alone.length} tests, and ${durable.length} with durable models and tools. The others:`);
  for (const name of differing) console.log(`- ${name}`);
} finally {
  rmSync(home, { recursive: true, force: true });
}

function extract(from: string): void {
  if (existsSync(join(from, "packages/ai")))
    for (const part of parts) cpSync(join(from, part), join(home, part), { recursive: true });
  else {
    const archive = execFileSync("git", ["--git-dir", from, "archive", "HEAD", ...parts], { maxBuffer: 2 ** 30 });
    execFileSync("tar", ["x", "-C", home], { input: archive });
  }
  for (const part of parts) writeFileSync(join(home, part, "tsconfig.json"), "{}");
  symlinkSync(join(root, "node_modules"), join(home, "node_modules"));
}

/** Replaces the tested functions in the tests. */
function standIns(): Plugin {
  const prefix = "\0durable:";
  return {
    name: "durable-functions",
    enforce: "pre",
    resolveId(id, importer = "") {
      const name = /^\.\/(generate-text|stream-text)$/.exec(id)?.[1];
      return name !== undefined && importer.endsWith(".test.ts") ? prefix + name : undefined;
    },
    load(id) {
      if (!id.startsWith(prefix)) return undefined;
      const file = JSON.stringify(join(source, `${id.slice(prefix.length)}.ts`));
      const tested = functions[id.slice(prefix.length)];
      const options = JSON.stringify(join(import.meta.dirname, "durableOptions.ts"));
      return `export * from ${file};
import { ${tested} as original } from ${file};
import { durableOptions } from ${options};
export const ${tested} = (options) => original(durableOptions(options));`;
    },
  };
}

async function passedTests(mode: "sdk" | "durable"): Promise<readonly string[]> {
  const outputFile = join(home, `${mode}.json`);
  const sources = (name: string) => join(home, "packages", name);
  const vitest = await startVitest(
    "test",
    [],
    {
      root: join(home, "packages/ai"),
      config: false,
      watch: false,
      reporters: ["json"],
      outputFile,
      include: Object.keys(functions).map((name) => `src/generate-text/${name}.test.ts`),
    },
    {
      define: { __PACKAGE_VERSION__: '"0.0.0-test"' },
      plugins: mode === "durable" ? [standIns()] : [],
      server: { fs: { strict: false } },
      resolve: {
        alias: [
          { find: /^@ai-sdk\/provider-utils\/test$/, replacement: sources("provider-utils/src/test/index.ts") },
          { find: /^@ai-sdk\/(gateway|provider|provider-utils)$/, replacement: sources("$1/src/index.ts") },
          { find: /^@ai-sdk\/test-server\/(.*)$/, replacement: sources("test-server/src/$1.ts") },
          { find: /^agent-persistence$/, replacement: join(root, "src/index.ts") },
        ],
      },
    },
  );
  await vitest.close();
  process.exitCode = 0;
  const { testResults } = JSON.parse(readFileSync(outputFile, "utf8")) as Report;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return tests.filter(({ status }) => status === "passed").map(({ fullName }) => fullName);
}
