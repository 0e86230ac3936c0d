import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// workerd is killed while a tool of the agent runs. Another workerd resumes the agent, and a third rolls it back.
const directory = mkdtempSync(join(tmpdir(), "agent-persistence-workerd-"));
const killed = spawn(process.execPath, ["host.mjs", directory, "/run?hangsAt=Daniel"], {
  // A group, so that workerd gets the signal too.
  detached: true,
  stdio: ["ignore", "pipe", "inherit"],
});
let printed = "";
for await (const chunk of killed.stdout) {
  printed += chunk;
  if (printed.includes("hanging")) break;
}
assert.match(printed, /hanging/);
process.kill(-Number(killed.pid), "SIGKILL");
if (killed.signalCode === null) await once(killed, "exit");

const ask = (path) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["host.mjs", directory, path], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1));
};
assert.deepEqual(ask("/run"), { output: "Done.", people: ["Alex", "Daniel", "Maria"] });
assert.deepEqual(ask("/rollback"), { reverted: 3, people: [] });
rmSync(directory, { recursive: true });
console.log("killed, resumed and rolled back: workerd with the SQLite of a Durable Object");
