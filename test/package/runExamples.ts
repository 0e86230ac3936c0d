import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Runs `check.ts` of every folder in `examples`: it runs its example, asserts what the example claims, and fails with
 * an exit code other than 0. A folder without a check fails too, so that no example can rot unseen.
 */
const examples = fileURLToPath(new URL("../../examples/", import.meta.url));
const names = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .toSorted();

const failed = names.filter((name) => !passes(name));
console.log(`examples: ${names.length - failed.length} passed, ${failed.length} failed ${failed.join(" ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function passes(name: string): boolean {
  const check = `${examples}${name}/check.ts`;
  if (!existsSync(check)) {
    console.error(`examples/${name}: there is no check.ts`);
    return false;
  }
  console.log(`examples/${name}`);
  return (
    spawnSync(process.execPath, ["--import", "tsx", check], { stdio: ["ignore", "inherit", "inherit"] }).status === 0
  );
}
