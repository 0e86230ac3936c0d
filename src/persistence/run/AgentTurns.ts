import type { RunResult } from "../../agent/feature/RunResult.ts";
import { abortable } from "../../internal/abortable.ts";

/** A call of `run` or `resume` that this process carries out. */
export interface RunningCall {
  readonly result: Promise<RunResult<unknown>>;
  /** The signal of its caller. Absent: it was given none. */
  readonly signal: AbortSignal | undefined;
  readonly isSameInput: (input: unknown) => boolean;
}

const turnsByStorage = new WeakMap<object, Map<string, AgentTurns>>();

/** The calls of `run` and `resume` of one agent in this process, and whose turn it is. */
export class AgentTurns {
  /** Those that are known to be of a run, by its id. */
  readonly byRun = new Map<string, RunningCall>();
  /** Those whose turn has come, the oldest first. Those that wait in the queue are not among them. */
  readonly #active = new Set<RunningCall>();
  #queueEnd: Promise<unknown> = Promise.resolve();
  #replacingEnd: Promise<unknown> = Promise.resolve();
  #users = 0;

  /** Works with those of an agent, which are forgotten when nobody uses them. */
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

  /** The oldest call whose turn has come, other than the given one. */
  other(own?: RunningCall): RunningCall | undefined {
    return [...this.#active].find((call) => call !== own);
  }

  begin(call: RunningCall): void {
    this.#active.add(call);
  }

  end(call: RunningCall): void {
    this.#active.delete(call);
  }

  /**
   * Works when all earlier calls of the queue have ended, and no other call runs.
   *
   * @param signal aborting it leaves the queue. It does not end the work.
   */
  inQueue<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    const ready = this.#queueEnd.then(async () => {
      for (let other = this.other(); other; other = this.other()) await settled(other.result);
    });
    const turn = (signal ? abortable(signal, () => ready) : ready).then(work);
    this.#queueEnd = Promise.all([ready, settled(turn)]);
    return turn;
  }

  /** Takes the place of a run, after all earlier attempts to do so. */
  inPlace<Result>(take: () => Promise<Result>): Promise<Result> {
    const turn = this.#replacingEnd.then(take);
    this.#replacingEnd = settled(turn);
    return turn;
  }

  /** Resolves when no call is about to take the place of a run. */
  async untilReplaced(): Promise<void> {
    await this.#replacingEnd;
  }
}

function settled(work: Promise<unknown>): Promise<void> {
  return work.then(
    () => undefined,
    () => undefined,
  );
}
