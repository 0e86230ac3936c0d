import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import semver from "semver";
import type { Environment, EnvironmentAnswer } from "../../persistence/environment/Environment.ts";

const run = promisify(execFile);
const gitTimeoutMs = 10_000;

/** What this machine's environment is made of. */
export interface NodeEnvironmentOptions {
  /** Default: that of the process when this is called. */
  readonly workingDirectory?: string | undefined;
  /**
   * Versions by further names: each gives the version, or `undefined` when there is none. Only `node`, `git` and `env:` are
   * known without: a name comes from stored data, and nothing is run because of one.
   */
  readonly versions?: Readonly<Record<string, () => string | undefined | Promise<string | undefined>>> | undefined;
}

/**
 * The environment of this process. `node` and `git` are versions, held against a range of the `semver` package; `env:NAME`
 * is a variable, which must be set for `*`, else equal what is wanted. Its value is never told.
 */
export function nodeEnvironment(options: NodeEnvironmentOptions = {}): Environment {
  const workingDirectory = resolve(options.workingDirectory ?? ".");
  const versions = new Map([
    ["node", () => process.versions.node],
    ["git", gitVersion],
    ...Object.entries(options.versions ?? {}),
  ] as const);
  return {
    workingDirectory,
    hasDirectory: async (path) => (await statusOf(path))?.isDirectory() === true,
    hashOf: async (path, directory) => {
      const file = resolve(directory, path);
      return (await statusOf(file))?.isFile() === true ? hashOf(file) : undefined;
    },
    lookUp: async (name, wanted) => {
      if (name.startsWith("env:")) return variable(process.env[name.slice("env:".length)], wanted);
      const version = await versions.get(name)?.();
      return version === undefined ? { satisfied: false } : { found: version, satisfied: satisfies(version, wanted) };
    },
  };
}

function variable(value: string | undefined, wanted: string): EnvironmentAnswer {
  return { satisfied: value !== undefined && (wanted === "*" || value === wanted) };
}

/** A version that is none of `semver`, such as `git`'s own on some systems, counts by its first numbers. */
function satisfies(version: string, wanted: string): boolean {
  const exact = semver.parse(version) ?? semver.coerce(version);
  return exact !== null && semver.satisfies(exact, wanted, { includePrerelease: true });
}

async function gitVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await run("git", ["--version"], { timeout: gitTimeoutMs });
    return /\d+(?:\.\d+)+/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}

async function statusOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
