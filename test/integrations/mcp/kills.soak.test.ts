import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";

const homes: string[] = [];
let program: string;
let server: string;

async function bundled(source: string): Promise<string> {
  const home = await temporaryDirectory();
  homes.push(home);
  return bundleWorker(home, `../integrations/mcp/${source}`);
}

beforeAll(async () => {
  [program, server] = (await Promise.all([bundled("killedWorker.ts"), bundled("killedServer.ts")])) as [string, string];
});
afterAll(() => Promise.all(homes.map((home) => rm(home, { recursive: true, force: true }))));

/** Returns what the process printed, or `killed`. */
function inOwnProcess(...parameters: readonly string[]): Promise<string> {
  return new Promise((resolve) =>
    execFile(process.execPath, [program, ...parameters], (ended, said, errors) =>
      resolve(ended?.signal === "SIGKILL" ? "killed" : said + errors),
    ),
  );
}

it.concurrent.each([
  ["book", "agent", ["killed", "tool_call_in_doubt"], 1],
  ["tag", "agent", ["killed", "completed"], 2],
  ["book", "server", ["completed", "completed"], 1],
] as const)("a call of %s of an MCP server that kills the %s is not repeated unless it may be", async (...row) => {
  const [tool, victim, ends, deeds] = row;
  const directory = await temporaryDirectory();
  expect([await inOwnProcess(directory, server, tool, victim), await inOwnProcess(directory, server, tool)]).toEqual(
    ends,
  );
  const lines = (await readFile(join(directory, "deeds"), "utf8")).trim().split("\n");
  expect(lines).toHaveLength(deeds);
  expect(new Set(lines).size).toBe(1);
  await rm(directory, { recursive: true });
});
