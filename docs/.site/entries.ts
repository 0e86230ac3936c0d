import { readFileSync } from "node:fs";

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly repository?: string | { readonly url: string };
  readonly description: string;
}

export const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as Manifest;

/** An entry of the package with its API page. */
export interface Entry {
  /** Such as "agent-persistence/file". */
  readonly name: string;
  /** The name of its source file and of its API page, such as "file". */
  readonly file: string;
}

export const entries: readonly Entry[] = Object.keys(manifest.exports)
  .filter((path) => path !== "./package.json")
  .map((path) => ({
    name: path.replace(/^\./, "agent-persistence"),
    file: path === "." ? "index" : path.slice(2),
  }));
