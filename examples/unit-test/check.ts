import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Runs the test file with vitest, as its README says. */
const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
const root = fileURLToPath(new URL(".", import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, "run", "--root", root], { stdio: "inherit" });
process.exitCode = status ?? 1;
