import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";

/** Runs each step in a separate process, as a user would, and verifies its output. */
const directory = mkdtempSync(join(tmpdir(), "openai-agents-"));
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
  assert.match(step("start"), /^waits for an approval: refund .*order 7/);
  assert.equal(step("approve"), "approved");
  assert.equal(step("approve"), "");
  assert.equal(step("resume", "kill"), "SIGKILL");
  assert.equal(linesOf("payments.txt").length, 1);
  const end = "order 7 is refunded. The conversation has 6 items.";
  assert.equal(step("resume"), end);
  assert.equal(step("resume"), end);
  assert.match(linesOf("payments.txt").join("\n"), /^\S+ 25 euros for order 7$/);
  assert.equal(linesOf("requests.txt").length, 3);
  assertSeen(said);
  console.log("   waits for an approval, is killed when it has paid, and goes on: paid once, no model asked twice");
} finally {
  rmSync(directory, { recursive: true, force: true });
}
