import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";

/** Runs the demo as a user would, without a model's key, and verifies that it claimed everything. */
const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
const { OPENAI_API_KEY: _key, ...environment } = process.env;
const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", demo], {
  encoding: "utf8",
  env: environment,
});
assert.equal(status, 0, stdout + stderr);
assert.doesNotMatch(stdout, /✗/);
for (const claimed of [
  /modified src\/greetings\.mjs\n[^]*created NOTES\.md\n[^]*created test\/report\.txt/,
  /preview: conflict src\/greetings\.mjs/,
  /write \(merge\) src\/greetings\.mjs/,
  /✓ greet says Hello again, and the person's line is kept/,
  /✓ the branch is gone/,
  /✓ so are the messages/,
  /"src\/greetings\.mjs" was modified \(it cannot be merged: both sides changed the same lines/,
  /✓ nothing has changed/,
  /✓ upstream commits to other files[^]*✓ upstream commits to other lines[^]*✓ upstream commits to the agent's very line/,
  /✓ local changes that the workspace did not make[^]*✓ history that was rewritten/,
  /use_current src\/greetings\.mjs/,
])
  assert.match(stdout, claimed);
assertSeen(stdout);
console.log("   the demo does what it claims");
