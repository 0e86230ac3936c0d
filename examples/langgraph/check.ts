import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";

/** Runs each step in a separate process, as a user would, and verifies its output. */
const directory = mkdtempSync(join(tmpdir(), "langgraph-"));
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
  assert.equal(step("start"), "waits for an answer: Refund orders 7 and 8?");
  assert.equal(step("resume", "kill"), "SIGKILL");
  const [paid] = linesOf("payments.txt");
  assert.equal(step("resume"), "order 7 is refunded, and order 8 is refunded. The thread has 5 messages.");
  assert.equal(linesOf("payments.txt")[0], paid);
  assert.match(linesOf("payments.txt").join("\n"), /^\S+ 25 euros for order 7\n\S+ 25 euros for order 8$/);
  assert.deepEqual([linesOf("answers.txt"), linesOf("requests.txt").length], [["yes"], 2]);
  assertSeen(said, /put[^]*call[^]*call_end/);
  console.log(
    "   waits for an answer, is killed when it has paid, and goes on: each order paid once, nobody asked twice",
  );
} finally {
  rmSync(directory, { recursive: true, force: true });
}
