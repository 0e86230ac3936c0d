import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltPackage, buildCode } from "../package/builtPackage.ts";
import { repository } from "../package/compile.ts";
import { databaseUrl } from "../storage/postgres/database.ts";

let built: BuiltPackage;
beforeAll(() => {
  built = buildCode();
  for (const name of ["@ai-sdk/openai-compatible", "tsx", ".bin/tsx"]) link(name);
  mkdirSync(`${built.root}examples`);
  symlinkSync(`${repository}examples/starter`, `${built.root}examples/starter`);
});
afterAll(() => rmSync(built.app, { recursive: true, force: true }));

function link(name: string): void {
  mkdirSync(`${built.app}node_modules/${name.split("/").slice(0, -1).join("/")}`, { recursive: true });
  symlinkSync(`${repository}node_modules/${name}`, `${built.app}node_modules/${name}`);
}

describe("a project of init", () => {
  it.each(["file", "sqlite", "postgres"])("passes its test and runs with the storage %s", async (storage) => {
    const env = { ...process.env, OPENAI_API_KEY: undefined, DATABASE_URL: await databaseUrl() };
    const run = (command: string, ...args: readonly string[]) =>
      execFileSync(command, args, { cwd: `${built.app}${storage}`, env, encoding: "utf8" });
    mkdirSync(`${built.app}${storage}`);
    const cli = [`${built.root}${built.bin}`, "init", "--storage", storage, "--json"];
    expect(JSON.parse(run(process.execPath, ...cli))).toMatchObject({
      storage,
      files: ["agent.test.ts", "agent.ts", "main.ts", "model.ts", "package.json", "storage.ts", "tsconfig.json"],
    });
    expect(run("npm", "test")).toMatch(/pass 1\b/);
    expect(run("npm", "start", "--silent")).toBe("Both seats are booked.\n");
  });
});
