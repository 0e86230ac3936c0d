import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";

/** Runs each step in a separate process, as a user would, and verifies its output. */
const directory = mkdtempSync(join(tmpdir(), "waiting-"));
let said = "";

function step(name: string, ...options: readonly string[]): string {
  const program = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const args = ["--import", "tsx", program, directory, ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  said = stderr;
  return stdout.trim();
}

try {
  assert.equal(step("ask", "a lamp"), "waiting");
  assert.equal(step("resume"), "waiting");
  assert.match(step("answer", '{"approved":"yes"}'), /^human_approval: May I buy a lamp\?\nrefused: .*approved/);
  assert.match(step("answer", '{"approved":true,"by":"Ada"}'), /\nanswered$/);
  assert.equal(step("answer", '{"approved":false,"by":"Bob"}'), "no question is open");
  assert.equal(step("resume"), "bought a lamp for Ada");
  assert.equal(step("resume"), "bought a lamp for Ada");
  assert.match(readFileSync(join(directory, "payments.txt"), "utf8"), /^\S+ a lamp\n$/);
  assertSeen(said);
  console.log("   asked in one process, answered in another, paid once in a third");
} finally {
  rmSync(directory, { recursive: true, force: true });
}
