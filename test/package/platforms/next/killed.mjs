import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// A route of a built Next.js application: its process is killed in a tool, and the next process resumes the agent.
const home = mkdtempSync(join(tmpdir(), "agent-persistence-next-"));
const port = await freePort();
const url = `http://127.0.0.1:${port}/api/run`;

let server = await start();
await assert.rejects(fetch(`${url}?diesAt=Daniel`, { method: "POST" }));
if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
assert.equal(readdirSync(home).filter((file) => file.startsWith("user-")).length, 2);

server = await start();
assert.deepEqual(await (await fetch(url, { method: "POST" })).json(), { output: "Done.", people: 3 });
assert.deepEqual(await (await fetch(url, { method: "DELETE" })).json(), { reverted: 3, people: 0 });
process.kill(-Number(server.pid), "SIGKILL");
rmSync(home, { recursive: true });
console.log("killed, resumed and rolled back: a route of Next.js");

async function start() {
  const args = ["node_modules/next/dist/bin/next", "start", "--hostname", "127.0.0.1", "--port", String(port)];
  const env = { ...process.env, PEOPLE: home, NEXT_TELEMETRY_DISABLED: "1" };
  const started = spawn(process.execPath, args, { detached: true, env, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  for await (const chunk of started.stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk;
    if (/Ready in/.test(printed)) break;
  }
  assert.match(printed, /Ready in/);
  started.stdout.resume();
  return started;
}

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port: free } = probe.address();
  probe.close();
  await once(probe, "close");
  return free;
}
