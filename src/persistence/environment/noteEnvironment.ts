import type { RunState } from "../../agent/state/RunState.ts";
import type { Environment } from "./Environment.ts";

/** Takes down what the files that a run requires hold now, to be saved with the next checkpoint. Without any, nothing is read. */
export async function noteEnvironment(environment: Environment | undefined, state: RunState): Promise<void> {
  if (environment === undefined) return;
  const { workingDirectory } = environment;
  const hashes: Record<string, string | null> = {};
  for (const path of state.requirements.files ?? [])
    hashes[path] = (await environment.hashOf(path, workingDirectory)) ?? null;
  state.noteEnvironment({ workingDirectory, hashes });
}
