import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

// The scripts of the page import no modules of Node, and do in Node what they do in a browser.
const imports = /(?:from|import)\s*\(?["'](?:node:|__vite-browser-external)/;
for (const file of readdirSync("page/assets").filter((name) => name.endsWith(".js")))
  assert.ok(!imports.test(readFileSync(`page/assets/${file}`, "utf8")), `${file} imports a module of Node.`);
const [main = ""] = /assets\/[^"]+\.js/.exec(readFileSync("page/index.html", "utf8")) ?? [];
const printed = JSON.parse(execFileSync(process.execPath, [`page/${main}`], { encoding: "utf8" }));
assert.deepEqual(printed, {
  failure: printed.failure,
  output: "Hello, Ada!",
  visited: ["first", "second", "second"],
  checkpoints: printed.checkpoints,
});
assert.match(printed.failure, /broken/);
console.log("a page built by Vite fails, resumes and lists its checkpoints");
