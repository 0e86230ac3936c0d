import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";

/** Runs each step in a separate process, as a user would, and verifies its output. */
const directory = mkdtempSync(join(tmpdir(), "approval-desk-"));
let version = "1";
let said = "";

function step(name: string, ...options: readonly string[]): string {
  const program = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const args = ["--import", "tsx", program, directory, ...options];
  const env = { ...process.env, DESK_VERSION: version };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  assert.equal(status, 0, stdout + stderr);
  said = stderr;
  return stdout.trim();
}

/** The id of the one request that is open, which reads as expected. */
function openRequest(expected: string): string {
  const [id = "", ...rest] = step("requests").split(" ");
  assert.equal(rest.join(" "), expected);
  return id;
}

try {
  assert.equal(step("start"), "waiting");
  assert.equal(step("verdicts"), "order-7 same");
  version = "2";
  assert.equal(step("verdicts"), "order-7 migrates");
  const question = openRequest("order-7 > research: Do you know the customer?");
  assert.equal(step("answer", question, "true"), "answered");
  assert.equal(step("resume"), "waiting");
  const approval = openRequest("order-7: Refund 25 euros for order 7?");
  const other = step("fork", "order-7-other");
  assert.notEqual(other, approval);
  assert.equal(step("answer", other, '{"approved":false}'), "answered");
  assert.equal(step("resume", "order-7-other"), "The money stays here.");
  assert.equal(step("answer", approval, '{"approved":true}'), "answered");
  assert.match(step("answer", approval, '{"approved":true}'), /^refused: request_/);
  assert.equal(step("resume"), "The customer has the money back.");
  assert.deepEqual(readFileSync(join(directory, "done.txt"), "utf8").trim().split("\n"), [
    "looked up the customer",
    "looked up the order",
    "refunded 25 euros for order 7",
  ]);
  assert.equal(step("edit"), "refund order 8");
  const tree = step("tree").split("\n");
  assert.equal(tree[0], 'callModel "beginning"');
  assert.equal(tree.at(-1), "  callModel (edit by ann@example.com) *");
  assert.ok(tree.some((line) => line.trim() === "research askPerson (migration)"));
  assert.match(step("tree", "order-7-other"), /callTools \(fork\)/);
  assert.equal(step("resume"), "waiting");
  assertSeen(said);
  openRequest("order-7 > research: Do you know the customer?");
  console.log(
    "   two researchers at once, version 2 while one waits, one answer, one approval, one refund; a fork, an edit, and the tree",
  );
} finally {
  rmSync(directory, { recursive: true, force: true });
}
