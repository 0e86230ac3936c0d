import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import semver from "semver";
import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import type { Environment, EnvironmentAnswer } from "../../environment/EnvironmentMismatch.ts";

const run = promisify(execFile);
const gitTimeoutMs = 10_000;

/** Options of {@link nodeEnvironment}. */
export interface NodeEnvironmentOptions {
  /** Defaults to the working directory of the process at the call. */
  readonly workingDirectory?: string | undefined;
  /**
   * Additional versions by name. Each function returns a version or `undefined`. By default, only `node`, `git` and
   * `env:` are known. The names to look up come from stored data, so a name must not make your function start a
   * program.
   */
  readonly versions?: Readonly<Record<string, () => string | undefined | Promise<string | undefined>>> | undefined;
}

const optionsSchema = strictOptions(() => ({
  workingDirectory: nonEmptyString.optional(),
  versions: z.record(z.string(), functionSchema()).optional(),
}));

/**
 * Returns the environment of this process.
 *
 * - `node` and `git` are versions. A requirement is a range of the `semver` package.
 * - `env:NAME` is an environment variable. The requirement `*` means that it is set, and any other text is the required
 * value. Reports never contain the value.
 *
 * @throws InvalidInputError
 */
export function nodeEnvironment(options: NodeEnvironmentOptions = {}): Environment {
  checkSchema(optionsSchema, options, "options of the environment");
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

/** Some systems add a suffix to the version of `git`. Only the numbers at the start count. */
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
