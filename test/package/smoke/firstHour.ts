import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter } from "node:path";
import { promisify } from "node:util";
import { ChatServer, text, toolCalls } from "../../integrations/ai-sdk/ChatServer.ts";
import { repository } from "../compile.ts";

/**
 * Does what the README says, in an empty directory: `npm init`, the installation, and the program, in each way that the
 * README names and with each Node. Arguments: the directory, the packed package, and directories with a `node`.
 */
const [directory = "", archive = "", ...nodes] = process.argv.slice(2);
const readme = readFileSync(`${repository}README.md`, "utf8");
const program = /```ts\n(.*?)```/s.exec(readme)?.[1] ?? "";
const install = /```sh\n(npm install .*)\n```/.exec(readme)?.[1] ?? "";
const commands = new Set([...readme.matchAll(/(?:npx tsx|node) agent\.m[jt]s/g)].map(([command]) => command));
const provider = "https://api.openai.com/v1";

assert.deepEqual([...commands], ["node agent.mjs", "npx tsx agent.mts", "node agent.mts"]);
assert.ok(program.includes(provider));
await shell("npm init -y");
await shell(`${install.replace("agent-persistence", archive)} --no-audit --no-fund`);
for (const node of ["", ...nodes]) {
  const version = (await shell("node --version", node)).trim();
  for (const command of commands) {
    if (command !== "node agent.mts" || hasTypeScript(version)) await run(command, node);
  }
  console.log(`first hour: the program of the README runs on Node ${version}`);
}

async function run(command: string, node: string): Promise<void> {
  await using server = await ChatServer.start();
  server
    .next(toolCalls(...["Alex", "Daniel", "Maria"].map((name) => [name, "signUp", { name }] as const)))
    .next(text("All are signed up."));
  writeFileSync(`${directory}/${command.split(" ").at(-1)}`, program.replace(provider, server.url));
  assert.equal(await shell(command, node), "All are signed up.\n");
  // The recorded answer.
  if (command === "node agent.mjs") assert.equal(await shell(command, node), "All are signed up.\n");
  assert.equal(server.requests.length, 2);
  rmSync(`${directory}/.agent-persistence`, { recursive: true });
}

/** @param node a directory with a `node`, which is used instead of the current one */
async function shell(command: string, node = ""): Promise<string> {
  const env = {
    ...process.env,
    npm_config_yes: "true",
    PATH: `${node}${node === "" ? "" : delimiter}${process.env["PATH"]}`,
  };
  return (await promisify(execFile)("sh", ["-c", command], { cwd: directory, env })).stdout;
}

function hasTypeScript(version: string): boolean {
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}
