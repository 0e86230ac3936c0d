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
  { agentId, input, kind, options }: RunRequest,
  carryOut: (announce: Announce) => Result,
): Result {
  const calls = callsByStorage.get(storage) ?? new Map<string, RunningCall>();
  callsByStorage.set(storage, calls);
  const { signal } = options;
  const runId = kind === "run" ? (options as RunOptions).runId : undefined;
  const keyOf = (id: string) => JSON.stringify([agentId, id]);
  const running = () => (runId === undefined ? undefined : calls.get(keyOf(runId)));
  for (let other = running(); other && runId !== undefined; other = running()) {
    if (!other.isSameInput(input)) throw new RunInputDiffersError(agentId, runId);
    const { result } = other;
    try {
      return await (signal ? abortable(signal, () => result) : result);
    } catch (error) {
      if (!other.signal?.aborted || signal?.aborted) throw error;
    }
  }
  const announced = new Set<string>();
  const announce: Announce = (id, isSameInput) => {
    if (calls.has(keyOf(id))) return;
    announced.add(keyOf(id));
    calls.set(keyOf(id), { result, signal, isSameInput });
  };
  const result: Result = Promise.resolve()
    .then(() => carryOut(announce))
    .finally(() => announced.forEach((key) => calls.delete(key)));
  if (runId !== undefined) announce(runId, (other) => isSameValue(input, other));
  return result;
}
