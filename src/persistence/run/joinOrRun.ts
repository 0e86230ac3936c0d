import type { RunOptions, RunRequest } from "../../agent/feature/RunRequest.ts";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { RunInputDiffersError } from "../../errors/run/RunInputDiffersError.ts";
import { abortable } from "../../internal/abortable.ts";

type Result = Promise<RunResult<unknown>>;

/** A call of `run` or `resume` that this process carries out. */
interface RunningCall {
  readonly result: Result;
  /** The signal of its caller. Absent: it was given none. */
  readonly signal: AbortSignal | undefined;
  readonly isSameInput: (input: unknown) => boolean;
}

/** Says which run a call carries out, and how its input compares with that of another call. */
export type Announce = (runId: string, isSameInput: RunningCall["isSameInput"]) => void;

const callsByStorage = new WeakMap<object, Map<string, RunningCall>>();

/**
 * Carries out a call, unless this process is running the run that its `runId` names on the same storage: then it waits for
 * that run's result, or begins itself when the caller of that run has aborted it.
 *
 * @throws RunInputDiffersError when that run was asked for with another input.
 */
export async function joinOrRun(
  storage: object,
  request: RunRequest,
  carryOut: (announce: Announce) => Result,
): Result {
  const { agentId, input, kind, options } = request;
  const calls = callsByStorage.get(storage) ?? new Map<string, RunningCall>();
  callsByStorage.set(storage, calls);
  const keyOf = (id: string) => JSON.stringify([agentId, id]);
  const runId = kind === "run" ? (options as RunOptions).runId : undefined;
  if (runId !== undefined) {
    for (let other = calls.get(keyOf(runId)); other; other = calls.get(keyOf(runId))) {
      if (!other.isSameInput(input)) throw new RunInputDiffersError(agentId, runId);
      const joined = await resultOf(other, options.signal);
      if (joined) return joined;
    }
  }
  const announced = new Set<string>();
  const announce: Announce = (id, isSameInput) => {
    if (calls.has(keyOf(id))) return;
    announced.add(keyOf(id));
    calls.set(keyOf(id), { result, signal: options.signal, isSameInput });
  };
  const result: Result = Promise.resolve()
    .then(() => carryOut(announce))
    .finally(() => announced.forEach((key) => calls.delete(key)));
  if (runId !== undefined) announce(runId, (other) => isSameValue(input, other));
  return result;
}

/** @returns `undefined` when the caller of that run has aborted it. */
async function resultOf(
  { result, signal: theirs }: RunningCall,
  ours: AbortSignal | undefined,
): Promise<RunResult<unknown> | undefined> {
  try {
    return await (ours ? abortable(ours, () => result) : result);
  } catch (error) {
    if (!theirs?.aborted || ours?.aborted) throw error;
    return undefined;
  }
}
