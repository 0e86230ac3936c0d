import type { RunResult } from "../../agent/feature/RunResult.ts";
import { abortable } from "../../internal/abortable.ts";

export interface RunningCall {
  readonly result: Promise<RunResult<unknown>>;
  readonly signal: AbortSignal | undefined;
  readonly isSameInput: (input: unknown) => boolean;
}

const turnsByStorage = new WeakMap<object, Map<string, AgentTurns>>();

export class AgentTurns {
  readonly byRun = new Map<string, RunningCall>();
  readonly #active = new Set<RunningCall>();
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
   * Runs `work` after all earlier calls of the queue, when no other call runs.
   *
   * @param signal leaves the queue when aborted, but does not stop running work.
   */
  inQueue<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    const ready = this.#queueEnd.then(async () => {
      for (let other = this.other(); other; other = this.other()) await settled(other.result);
    });
    const turn = (signal ? abortable(signal, () => ready) : ready).then(work);
    this.#queueEnd = Promise.all([ready, settled(turn)]);
    return turn;
  }

  /** Replaces a run, after all earlier attempts to do so. */
  inPlace<Result>(take: () => Promise<Result>): Promise<Result> {
    const turn = this.#replacingEnd.then(take);
    this.#replacingEnd = settled(turn);
    return turn;
  }

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
