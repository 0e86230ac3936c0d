import type { RunOptions, RunRequest } from "../../agent/feature/RunRequest.ts";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { RunInputDiffersError } from "../../errors/runErrors.ts";
import { abortable } from "../../internal/abortable.ts";

type Result = Promise<RunResult<unknown>>;

export type Announce = (runId: string, isSameInput: AnnouncedRun["isSameInput"]) => void;

export interface OwnTurn {
  readonly turns: AgentTurns;
  readonly own: { executes: boolean };
  readonly announce: Announce;
}

/**
 * Executes a call of `run`. Returns the result of another call in this process instead, if it has the same `runId`, or
 * with `whenBusy: "join"` if it runs. Executes the call if the other one aborts or executes no run. With `"queue"`,
 * waits for the other calls.
 *
 * @throws RunInputDiffersError
 */
export function joinOrRun(storage: object, request: RunRequest, carryOut: (turn: OwnTurn) => Result): Result {
  return AgentTurns.with(storage, request.agentId, async (turns) => {
    for (let other = joined(turns, request); other; other = joined(turns, request)) {
      const result = await resultOf(other, request);
      if (result) return result;
    }
    return carriedOut(turns, request, carryOut);
  });
}

function joined(turns: AgentTurns, request: RunRequest): RunningCall | undefined {
  const { agentId, input } = request;
  const { runId, whenBusy } = runOptionsOf(request);
  const same = runId === undefined ? undefined : turns.byRun.get(runId);
  if (same && !same.isSameInput(input)) throw new RunInputDiffersError(agentId, runId ?? "");
  return same?.call ?? (whenBusy === "join" ? turns.other() : undefined);
}

function carriedOut(turns: AgentTurns, request: RunRequest, carryOut: (turn: OwnTurn) => Result): Result {
  const { input, options } = request;
  const { runId, whenBusy } = runOptionsOf(request);
  const { signal } = options;
  const announced = new Set<string>();
  const announce: Announce = (id, isSameInput) => {
    if (turns.byRun.has(id)) return;
    announced.add(id);
    turns.byRun.set(id, { call: own, isSameInput });
  };
  const begun = () => {
    turns.active.add(own);
    return carryOut({ turns, own, announce });
  };
  const turn = whenBusy === "queue" ? turns.inQueue(signal, begun) : Promise.resolve().then(begun);
  const result: Result = turn.finally(() => {
    turns.active.delete(own);
    for (const id of announced) turns.byRun.delete(id);
  });
  const own: RunningCall = { result, signal, executes: false };
  if (whenBusy !== "queue") turns.active.add(own);
  if (runId !== undefined) announce(runId, (other) => isSameValue(input, other));
  return result;
}

function runOptionsOf({ kind, options }: RunRequest): Pick<RunOptions, "runId" | "whenBusy"> {
  return kind === "run" ? (options as RunOptions) : {};
}

/** Returns the result of another call. `undefined` if its caller aborted, or if it has the result of another run. */
async function resultOf(other: RunningCall, request: RunRequest): Promise<RunResult<unknown> | undefined> {
  const { runId, whenBusy } = runOptionsOf(request);
  const { signal } = request.options;
  try {
    const result = await unlessAborted(signal, other.result);
    return result.runId === runId || (whenBusy === "join" && other.executes) ? result : undefined;
  } catch (error) {
    if (signal?.aborted || (other.executes && !other.signal?.aborted)) throw error;
    return undefined;
  }
}

interface RunningCall {
  readonly result: Promise<RunResult<unknown>>;
  readonly signal: AbortSignal | undefined;
  /** True when the call executes a run or joins a run of another process. */
  executes: boolean;
}

/** A run that a call executes or waits for. */
interface AnnouncedRun {
  readonly call: RunningCall;
  readonly isSameInput: (input: unknown) => boolean;
}

const turnsByStorage = new WeakMap<object, Map<string, AgentTurns>>();

class AgentTurns {
  readonly byRun = new Map<string, AnnouncedRun>();
  readonly active = new Set<RunningCall>();
  #queueEnd: Promise<unknown> = Promise.resolve();
  #replacingEnd: Promise<unknown> = Promise.resolve();
  #users = 0;

  static async with<Result>(
    storage: object,
    agentId: string,
    work: (turns: AgentTurns) => Promise<Result>,
  ): Promise<Result> {
    const all = turnsByStorage.get(storage) ?? new Map<string, AgentTurns>();
    turnsByStorage.set(storage, all);
    const turns = all.get(agentId) ?? new AgentTurns();
    all.set(agentId, turns);
    turns.#users++;
    try {
      return await work(turns);
    } finally {
      if (--turns.#users === 0) all.delete(agentId);
    }
  }

  other(): RunningCall | undefined {
    return [...this.active][0];
  }

  get hasRun(): boolean {
    return [...this.active].some(({ executes }) => executes);
  }

  /** Runs `work` after all earlier calls. @param signal Removes the call from the queue. */
  inQueue<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    const ready = this.#queueEnd.then(async () => {
      for (let other = this.other(); other; other = this.other()) await Promise.allSettled([other.result]);
    });
    const turn = unlessAborted(signal, ready).then(work);
    this.#queueEnd = Promise.allSettled([ready, turn]);
    return turn;
  }

  /** Runs `take`, which replaces a run, after all earlier replacements. */
  inPlace<Result>(signal: AbortSignal | undefined, take: () => Promise<Result>): Promise<Result> {
    const ready = this.#replacingEnd;
    const turn = unlessAborted(signal, ready).then(take);
    this.#replacingEnd = Promise.allSettled([ready, turn]);
    return turn;
  }

  untilReplaced(signal: AbortSignal | undefined): Promise<unknown> {
    return unlessAborted(signal, this.#replacingEnd);
  }
}

function unlessAborted<Result>(signal: AbortSignal | undefined, work: Promise<Result>): Promise<Result> {
  return signal ? abortable(signal, () => work) : work;
}
