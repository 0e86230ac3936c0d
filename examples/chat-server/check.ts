import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { assertSeen } from "../assertSeen.ts";

/** Runs the server and its client in separate processes, as a user would, and verifies their output. */
const directory = mkdtempSync(join(tmpdir(), "chat-server-"));
const programOf = (name: string) => ["--import", "tsx", fileURLToPath(new URL(`${name}.ts`, import.meta.url))];

/** Starts the server. It listens on the port that it prints. */
async function startServer(
  ...how: readonly string[]
): Promise<{ server: ChildProcess; port: string; ended: Promise<unknown[]> }> {
  const server = spawn(process.execPath, [...programOf("server"), directory, ...how], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  const [said] = (await Promise.race([once(server.stdout, "data"), ended])) as [unknown];
  const port = String(said).trim();
  assert.match(port, /^\d+$/, "the server has ended");
  return { server, port, ended };
}

async function client(...given: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [...programOf("client"), ...given]);
}

let running: ChildProcess | undefined;
try {
  const first = await startServer("kill");
  running = first.server;
  assert.match((await client(first.port, "ask")).stdout, /^I\n$/);
  // Nobody listens any more. The run goes on, until its server is killed in the tool.
  assert.deepEqual(await first.ended, [null, "SIGKILL"]);

  const second = await startServer();
  running = second.server;
  const { stdout, stderr } = await client(second.port, directory);
  assert.deepEqual(stdout.trim().split("\n"), [
    "I look the order up.",
    'tool-look_up output-available {"order":"order 7","euros":25}',
    "It costs 25 euros. I refund it.",
    'tool-refund output-available {"paid":25}',
    "Order 7 is refunded.",
  ]);
  assert.equal((await client(second.port, directory)).stdout.trim(), "nothing is going on");
  assert.match(readFileSync(join(directory, "payments.txt"), "utf8"), /^\S+ 25 euros for order 7\n$/);
  assertSeen(stderr);
  console.log(
    "   the client loses its connection, the server is killed in a tool; the client gets all of it, paid once",
  );
} finally {
  running?.kill();
  rmSync(directory, { recursive: true, force: true });
}
