import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Compiles the template, and runs its test and its program of the template in an empty working directory. */
const directory = mkdtempSync(join(tmpdir(), "starter-"));
const template = fileURLToPath(new URL("template/", import.meta.url));
const tsx = import.meta.resolve("tsx");

function node(...args: readonly string[]): string {
  const { OPENAI_API_KEY: _key, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", tsx, ...args], {
    cwd: directory,
    env,
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
  return stdout.trim();
}

try {
  const tsc = fileURLToPath(import.meta.resolve("typescript/bin/tsc"));
  execFileSync(process.execPath, [tsc, "--project", template], { stdio: "inherit" });
  assert.match(node("--test", join(template, "agent.test.ts")), /pass 1\b/);
  const main = join(template, "main.ts");
  assert.equal(node(main), "Both seats are booked.");
  assert.equal(node(main), "Both seats are booked.");
  console.log("   tested with a crash after each save, and run twice with one answer");
} finally {
  rmSync(directory, { recursive: true, force: true });
}
