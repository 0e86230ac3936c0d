// Runs programs for a test worker, which asks over the IPC channel or, if it has to wait, over two named pipes.
import { execFile } from "node:child_process";
import { createReadStream, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [requests, answers] = process.argv.slice(2);
const running = new Map();

function run({ file, args, options, input }, signal, answer) {
  const child = execFile(file, args, { ...options, signal }, (error, output, complaint) => {
    const { message, code, killed } = error ?? {};
    answer({ error: error && { message, code, killed }, output, complaint });
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
}

process.on("message", ({ id, aborts, call }) => {
  if (aborts) return running.get(id)?.abort();
  const controller = new AbortController();
  running.set(id, controller);
  run(call, controller.signal, (answer) => {
    running.delete(id);
    if (process.connected) process.send({ id, ...answer });
  });
});
process.on("disconnect", () => process.exit());

const written = openSync(answers, "w");
for await (const line of createInterface({ input: createReadStream(requests) }))
  run(JSON.parse(line), undefined, (answer) => {
    let rest = Buffer.from(`${JSON.stringify(answer)}\n`);
    while (rest.length > 0) rest = rest.subarray(writeSync(written, rest));
  });
