import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ChatServer, text, toolCalls } from "../integrations/ai-sdk/ChatServer.ts";
import { buildCode, type BuiltPackage } from "./builtPackage.ts";
import { repository } from "./compile.ts";

const readme = readFileSync(`${repository}README.md`, "utf8");
const program = /```ts\n(.*?)```/s.exec(readme)?.[1] ?? "";
const provider = "https://api.openai.com/v1";

let built: BuiltPackage;
beforeAll(() => {
  built = buildCode();
  execFileSync("npm", ["init", "--yes"], { cwd: built.app });
  mkdirSync(`${built.app}node_modules/@ai-sdk`, { recursive: true });
  mkdirSync(`${built.app}node_modules/.bin`);
  for (const name of ["@ai-sdk/openai-compatible", "tsx", ".bin/tsx"])
    symlinkSync(`${repository}node_modules/${name}`, `${built.app}node_modules/${name}`);
});
afterAll(() => rmSync(built.app, { recursive: true, force: true }));

/** Whether this Node takes TypeScript. Older ones do not have the field. */
const isTypeScript = Boolean((process.features as { readonly typescript?: unknown }).typescript);
/** The ways to run it that the README names. */
const ways = [["npx", "tsx"], ...(isTypeScript ? [["node"]] : [])];

it.each(ways.map((way) => ({ way })))("the first program of the README runs after npm init: $way", async ({ way }) => {
  const [command = "", ...given] = way;
  expect(readme).toContain(`${way.join(" ")} agent.mts`);
  expect(program).toContain(provider);
  await using server = await ChatServer.start();
  server
    .next(toolCalls(...["Alex", "Daniel", "Maria"].map((name) => [name, "signUp", { name }] as const)))
    .next(text("All are signed up."));
  writeFileSync(`${built.app}agent.mts`, program.replace(provider, server.url));
  const run = () => promisify(execFile)(command, [...given, "agent.mts"], { cwd: built.app });
  expect((await run()).stdout).toBe("All are signed up.\n");
  // The recorded answer.
  expect((await run()).stdout).toBe("All are signed up.\n");
  expect(server.requests).toHaveLength(2);
  rmSync(`${built.app}.agent-persistence`, { recursive: true });
});
