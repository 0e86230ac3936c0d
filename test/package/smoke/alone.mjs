import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

// Without the optional peers, every entry loads but those of the runtimes that the peers are.
const theirs = ["./langgraph", "./openai-agents", "./otel"];
const manifest = new URL("node_modules/agent-persistence/package.json", import.meta.url);
const entries = Object.keys(JSON.parse(readFileSync(manifest, "utf8")).exports);
for (const entry of entries) {
  const name = `agent-persistence${entry.slice(1)}`;
  if (theirs.includes(entry)) await assert.rejects(import(name), { code: "ERR_MODULE_NOT_FOUND" });
  else if (entry !== "./package.json") await import(name);
}
console.log("without optional peers: every other entry loads");
