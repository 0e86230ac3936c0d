import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startVitest } from "vitest/node";

/**
 * Runs the tests of the OpenAI Agents SDK against the installed SDK, and again with `DurableRunner` and `PersistenceSession`
 * in place of its own `Runner` and `MemorySession`:
 *
 *   node --import tsx test/integrations/upstream/openai-agents/run.ts <folder or git directory of openai/openai-agents-js>
 */
const suites = [
  "run",
  "run.stream",
  "agentScenarios",
  "memorySession",
  "hitlMemorySessionScenario",
  "modelTimeout",
  "result",
  "guardrail",
  "runner/guardrails",
  "handoff",
  "handoffs",
  "handoffCallbackErrors",
  "retryPolicy",
].map((name) => `test/${name}.test.ts`);
const part = "packages/agents-core/test";

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const [checkout] = process.argv.slice(2);
if (checkout === undefined)
  throw new Error("Pass the folder or the git directory of a checkout of openai/openai-agents-js.");
const home = mkdtempSync(join(tmpdir(), "openai-agents-upstream-"));
try {
  extractTests(checkout);
  const withSdk = await passedTests("sdk");
  const withDurable = await passedTests("durable");
  const differing = withSdk.passed.filter((name) => !withDurable.passed.includes(name));
  console.log(`The SDK passes ${withSdk.passed.length} of ${withSdk.total} tests.`);
  console.log(`DurableRunner and PersistenceSession pass ${withDurable.passed.length} of ${withDurable.total} tests.`);
  console.log(`${differing.length} tests pass with the SDK alone:`);
  for (const name of differing) console.log(`- ${name}`);
} finally {
  rmSync(home, { recursive: true, force: true });
}

function extractTests(from: string): void {
  mkdirSync(join(home, part), { recursive: true });
  if (existsSync(join(from, part))) cpSync(join(from, part), join(home, part), { recursive: true });
  else {
    const archive = execFileSync("git", ["-C", from, "archive", "HEAD", part], { maxBuffer: 2 ** 28 });
    execFileSync("tar", ["x", "-C", home], { input: archive });
  }
  symlinkSync(join(import.meta.dirname, "../../../../node_modules"), join(home, "node_modules"));
}

async function passedTests(mode: string): Promise<{ readonly passed: readonly string[]; readonly total: number }> {
  process.env["UPSTREAM_TESTS"] = join(home, "packages/agents-core");
  process.env["UPSTREAM_MODE"] = mode;
  const outputFile = join(home, `${mode}.json`);
  const config = join(import.meta.dirname, "vitest.config.ts");
  const vitest = await startVitest("test", suites, { config, watch: false, reporters: ["json"], outputFile });
  await vitest.close();
  process.exitCode = 0;
  const { testResults } = JSON.parse(readFileSync(outputFile, "utf8")) as Report;
  const tests = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ name: `${name.split("/test/").at(-1)}: ${fullName}`, status })),
  );
  return { passed: tests.filter(({ status }) => status === "passed").map(({ name }) => name), total: tests.length };
}
