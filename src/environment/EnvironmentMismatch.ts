import type { RunState } from "../agent/state/RunState.ts";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";

/** A difference between the current environment and the environment that a checkpoint recorded or requires. */
export type EnvironmentMismatch =
  | { readonly kind: "working_directory_missing"; readonly path: string }
  /**
   * A file was changed since the checkpoint, or since the agent changed it. Hashes are SHA-256 in hex. Without
   * `expected`, the agent deleted the file. `found` can be `unreadable`.
   */
  | {
      readonly kind: "file_modified_externally";
      readonly path: string;
      readonly expected?: string;
      readonly found: string;
    }
  | { readonly kind: "file_deleted"; readonly path: string }
  /** A version or value differs. `found` is omitted if it is unknown or private. */
  | {
      readonly kind: "environment_not_satisfied";
      readonly name: string;
      readonly wanted: string;
      readonly found?: string;
    }
  /** A recovery participant found new commits. */
  | { readonly kind: "new_commits_upstream"; readonly detail: string };

/** Describes a mismatch in one line for people. */
export function describeMismatch(mismatch: EnvironmentMismatch): string {
  switch (mismatch.kind) {
    case "working_directory_missing":
      return `the working directory ${mismatch.path} is missing`;
    case "file_modified_externally":
      return mismatch.expected === undefined
        ? `${mismatch.path} exists again, and the agent had deleted it`
        : `${mismatch.path} was changed since the checkpoint was saved`;
    case "file_deleted":
      return `${mismatch.path} is missing`;
    case "environment_not_satisfied":
      return `${mismatch.name} must be ${mismatch.wanted} and is ${mismatch.found ?? "not"}`;
    case "new_commits_upstream":
      return mismatch.detail;
  }
}

export type RecoveryInfo = AgentCheckpointData["recoveryInfo"];

export interface EnvironmentFacts {
  readonly directoryExists: boolean;
  /** The SHA-256 of each file in hex, by path. `undefined` for a missing file. */
  readonly hashes: ReadonlyMap<string, string | undefined>;
  readonly answers: ReadonlyMap<string, EnvironmentAnswer>;
}

export async function readEnvironment(info: RecoveryInfo, environment: Environment): Promise<EnvironmentFacts> {
  const directory = info.workingDirectory ?? environment.workingDirectory;
  const hashes = new Map<string, string | undefined>();
  const answers = new Map<string, EnvironmentAnswer>();
  for (const path of info.requiredContext) hashes.set(path, await environment.hashOf(path, directory));
  for (const [name, wanted] of Object.entries(info.environment))
    answers.set(name, await environment.lookUp(name, wanted));
  return { directoryExists: await environment.hasDirectory(directory), hashes, answers };
}

export function compareEnvironment(info: RecoveryInfo, facts: EnvironmentFacts): readonly EnvironmentMismatch[] {
  const { workingDirectory: path, requiredContext, fileHashes = {}, environment } = info;
  const missing = path !== undefined && !facts.directoryExists;
  const recorded = new Map(Object.entries(fileHashes));
  return [
    ...(missing ? [{ kind: "working_directory_missing", path } as const] : []),
    ...requiredContext.flatMap((file) => judgeFile(file, recorded.get(file), facts.hashes.get(file))),
    ...Object.entries(environment).flatMap(([name, wanted]) => judgeName(name, wanted, facts.answers.get(name))),
  ];
}

/** @param expected `null` if the file did not exist at the checkpoint. `undefined` if its hash is unknown. */
function judgeFile(
  path: string,
  expected: string | null | undefined,
  found: string | undefined,
): EnvironmentMismatch[] {
  if (expected === null) return [];
  if (found === undefined) return [{ kind: "file_deleted", path }];
  if (expected === undefined || expected === found) return [];
  return [{ kind: "file_modified_externally", path, expected, found }];
}

function judgeName(name: string, wanted: string, answer: EnvironmentAnswer | undefined): EnvironmentMismatch[] {
  if (answer?.satisfied === true) return [];
  const { found } = answer ?? {};
  return [{ kind: "environment_not_satisfied", name, wanted, ...(found !== undefined && { found }) }];
}

/**
 * The environment of an agent: a working directory, files, and versions or values by name. For the current machine, use
 * `nodeEnvironment()` of `agent-persistence/task`.
 */
export interface Environment {
  /** The directory to which the paths of required files are relative. Stored in each checkpoint. */
  readonly workingDirectory: string;
  hasDirectory(path: string): Promise<boolean>;
  /** Returns the SHA-256 of a file in hex. `undefined` if missing. `directory` is the base of relative paths. */
  hashOf(path: string, directory: string): Promise<string | undefined>;
  /** Looks up a name, such as `node`, `git` or `env:HOME`, and compares its value with the wanted value. */
  lookUp(name: string, wanted: string): Promise<EnvironmentAnswer>;
}

export interface EnvironmentAnswer {
  /** The found version. Omitted if the name has no version, or if its value is private. */
  readonly found?: string | undefined;
  readonly satisfied: boolean;
}

/** Adds the hashes of required files to the state, so that the next checkpoint stores them. */
export async function noteEnvironment(environment: Environment | undefined, state: RunState): Promise<void> {
  if (environment === undefined) return;
  const { workingDirectory } = environment;
  const hashes = new Map<string, string | null>();
  for (const path of state.requirements.files ?? [])
    hashes.set(path, (await environment.hashOf(path, workingDirectory)) ?? null);
  state.noteEnvironment({ workingDirectory, hashes: Object.fromEntries(hashes) });
}
