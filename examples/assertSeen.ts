import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const commandLine = fileURLToPath(new URL("../dist/cli/bin.js", import.meta.url));

/** Runs the command that an example says at its end, and asserts what it shows. Default: checkpoints. */
export function assertSeen(said: string, shown: RegExp = /CHECKPOINT[^]*● +1-1/): void {
  const [, args] = /^See what it did: npx agent-persistence (.*)$/m.exec(said) ?? [];
  assert.notEqual(args, undefined, said);
  const credentials = { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  const env = { ...credentials, ...process.env, NODE_OPTIONS: "" };
  const command = `"${process.execPath}" "${commandLine}" ${args}`;
  const { status, stdout, stderr } = spawnSync(command, { shell: true, encoding: "utf8", env });
  assert.equal(status, 0, `${command}\n${stdout}${stderr}`);
  assert.match(stdout, shown);
}
