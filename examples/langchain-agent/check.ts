import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";

/** Runs each step in a separate process, as a user would, and verifies its output. */
const directory = mkdtempSync(join(tmpdir(), "langchain-agent-"));
let said = "";

/** What a process printed, or the signal that ended it. */
function step(name: string, ...options: readonly string[]): string {
  const program = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const args = ["--import", "tsx", program, directory, ...options];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (signal) return signal;
  assert.equal(status, 0, stdout + stderr);
  said = stderr;
  return stdout.trim();
}

const linesOf = (name: string) => readFileSync(join(directory, name), "utf8").trim().split("\n");

try {
  assert.equal(step("start"), "waits: rent, 900 euros\nwaits: dinner, 400 euros");
  assert.equal(step("resume", "kill"), "SIGKILL");
  assert.equal(step("resume"), "the rent is paid, and the dinner is paid.");
  assert.match(linesOf("payments.txt").join("\n"), /^\S+ 900 euros for the rent\n\S+ 40 euros for the dinner$/);
  assert.equal(linesOf("requests.txt").length, 2);
  assertSeen(said, /put[^]*call[^]*call_end/);
  console.log(
    "   waits for a person, is killed when it has paid, and continues: each bill paid once, nobody asked twice",
  );
} finally {
  rmSync(directory, { recursive: true, force: true });
}
