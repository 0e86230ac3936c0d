import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Lets the benchmark import the library by its name, as built: this folder is a package of its own, so the name does not
 * lead to the one around it.
 */
export function linkLibrary(): void {
  const packages = fileURLToPath(new URL("./node_modules/", import.meta.url));
  if (existsSync(`${packages}agent-persistence`)) return;
  mkdirSync(packages, { recursive: true });
  symlinkSync(fileURLToPath(new URL("../..", import.meta.url)), `${packages}agent-persistence`, "junction");
}
