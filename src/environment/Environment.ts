import type { RunState } from "../agent/state/RunState.ts";
/**
 * The environment that checkpoints refer to: a working directory, files, and versions or values by name. For the
 * current machine, use `nodeEnvironment()` of `agent-persistence/task`.
 */
export interface Environment {
  /** The base directory of relative paths of required files. Recorded with each checkpoint. */
  readonly workingDirectory: string;
  /** Returns whether an absolute path is a directory. */
  hasDirectory(path: string): Promise<boolean>;
  /**
   * Returns the SHA-256 of a file's content in hex, or `undefined` for a missing file. A relative path is resolved from
   * `directory`.
   */
  hashOf(path: string, directory: string): Promise<string | undefined>;
  /** Looks up a name, such as `node`, `git` or `env:HOME`, and compares its value with the wanted value. */
  lookUp(name: string, wanted: string): Promise<EnvironmentAnswer>;
}

/** The result of a look-up. */
export interface EnvironmentAnswer {
  /** The found version. Omitted if the name has no version, or if its value is private. */
  readonly found?: string | undefined;
  readonly satisfied: boolean;
}

/** Stores the hashes of the files that a run requires in the state, for the next checkpoint. */
export async function noteEnvironment(environment: Environment | undefined, state: RunState): Promise<void> {
  if (environment === undefined) return;
  const { workingDirectory } = environment;
  const hashes: Record<string, string | null> = {};
  for (const path of state.requirements.files ?? [])
    hashes[path] = (await environment.hashOf(path, workingDirectory)) ?? null;
  state.noteEnvironment({ workingDirectory, hashes });
}
