import type { RunState } from "../../agent/state/RunState.ts";
/**
 * The world around a run, as far as a checkpoint states what it needs of it: the folder it works in, files, and versions or
 * values by name. `nodeEnvironment()` of `agent-persistence/task` is the one of this machine.
 */
export interface Environment {
  /** Where relative paths of required files begin; recorded with each checkpoint. */
  readonly workingDirectory: string;
  /** Whether there is a folder at an absolute path. */
  hasDirectory(path: string): Promise<boolean>;
  /** SHA-256 of a file's content in hex; `undefined` when there is no such file. A relative path begins at `directory`. */
  hashOf(path: string, directory: string): Promise<string | undefined>;
  /** What is there under a name, such as `node`, `git` or `env:HOME`, and whether it is what is wanted. */
  lookUp(name: string, wanted: string): Promise<EnvironmentAnswer>;
}

/** What was found under a name. */
export interface EnvironmentAnswer {
  /** A version. Absent: there is nothing, or it is a value that is nobody's business. */
  readonly found?: string | undefined;
  readonly satisfied: boolean;
}

/** Takes down what the files that a run requires hold now, to be saved with the next checkpoint. Without any, nothing is read. */
export async function noteEnvironment(environment: Environment | undefined, state: RunState): Promise<void> {
  if (environment === undefined) return;
  const { workingDirectory } = environment;
  const hashes: Record<string, string | null> = {};
  for (const path of state.requirements.files ?? [])
    hashes[path] = (await environment.hashOf(path, workingDirectory)) ?? null;
  state.noteEnvironment({ workingDirectory, hashes });
}
