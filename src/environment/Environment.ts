import type { RunState } from "../agent/state/RunState.ts";
/**
 * What a checkpoint may require around a run: a working directory, files, and versions or values by name. For this
 * machine, use `nodeEnvironment()` of `agent-persistence/task`.
 */
export interface Environment {
  /** Where relative paths of required files begin; recorded with each checkpoint. */
  readonly workingDirectory: string;
  /** Whether an absolute path is a folder. */
  hasDirectory(path: string): Promise<boolean>;
  /** SHA-256 of a file's content in hex; `undefined` when there is no such file. A relative path begins at `directory`. */
  hashOf(path: string, directory: string): Promise<string | undefined>;
  /** Looks up a name, such as `node`, `git` or `env:HOME`, and compares it with what is wanted. */
  lookUp(name: string, wanted: string): Promise<EnvironmentAnswer>;
}

/** What was found under a name. */
export interface EnvironmentAnswer {
  /** A version. Absent: there is none, or the value is private. */
  readonly found?: string | undefined;
  readonly satisfied: boolean;
}

/** Hashes the files that a run requires, for its next checkpoint. */
export async function noteEnvironment(environment: Environment | undefined, state: RunState): Promise<void> {
  if (environment === undefined) return;
  const { workingDirectory } = environment;
  const hashes: Record<string, string | null> = {};
  for (const path of state.requirements.files ?? [])
    hashes[path] = (await environment.hashOf(path, workingDirectory)) ?? null;
  state.noteEnvironment({ workingDirectory, hashes });
}
