const assert = require("node:assert/strict");
const { exports: entries } = require("agent-persistence/package.json");

(async () => {
  for (const entry of Object.keys(entries)) {
    if (entry === "./package.json") continue;
    const name = `agent-persistence${entry.slice(1)}`;
    const required = require(name);
    const imported = await import(name);
    for (const key of Object.keys(imported)) assert.equal(required[key], imported[key], `${name} has two ${key}`);
  }
  console.log("require: every entry loads, and holds the same classes as import");
})().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
