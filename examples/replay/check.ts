import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assertSeen } from "../assertSeen.ts";

/** Runs the demo as a user would. It verifies its own claims, and its report is the one on docs/replay.md. */
const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
const page = readFileSync(new URL("../../docs/replay.md", import.meta.url), "utf8");
const { OPENAI_API_KEY: _key, ...env } = process.env;
const directory = mkdtempSync(join(tmpdir(), "replay-check-"));
try {
  const args = ["--import", "tsx", demo, join(directory, "new")];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  assert.equal(status, 0, stdout + stderr);
  assert.doesNotMatch(stdout, /✗/);
  const [, report = ""] = /3\. .*\n([^]*?) {3}✓ no replay has changed/.exec(stdout) ?? [];
  assert.match(report, /changed signUp: city/);
  const lines = report.trimEnd().split("\n");
  for (const line of lines) assert.ok(page.includes(line.trim()), `docs/replay.md does not show: ${line}`);
  assertSeen(stdout);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
console.log("   the report shows the changed call, the removed call and the other output");
