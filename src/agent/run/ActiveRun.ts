import { addUsage, type ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import { abortable } from "../../internal/abortable.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { RunRequest } from "../feature/RunRequest.ts";
import type { SubAgent } from "../agentAsTool/agentAsTool.ts";
import { DeltaSender } from "../node/DeltaSender.ts";
import type { AgentCall, Wait } from "../node/NodeExecution.ts";
import { IterationLimitError } from "../../errors/strategyErrors.ts";

export class ActiveRun<Line extends { abortVisit(): void }> {
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly deltas: DeltaSender | undefined;
  readonly lines = new Set<Line>();
  /** The next lane number if no feature records the run. */
  nextLane = 1;
  usage: ModelUsage | undefined;
  /** The last unfinished move. The promise never rejects. */
  #moving: Promise<unknown> | undefined;

  constructor(
    { agentId, options, start }: RunRequest,
    readonly sha256: Sha256,
    readonly runLine: (line: Line) => Promise<LineEnd>,
    readonly callAgent: (line: Line, agent: SubAgent, call: AgentCall) => Promise<unknown>,
  ) {
    this.agentId = agentId;
    this.signal = options.signal ?? new AbortController().signal;
    this.deltas = options.onDelta && new DeltaSender(options.onDelta);
    this.usage = start?.usage;
  }

  addUsage(usage: unknown): void {
    this.usage = addUsage(this.usage, usage);
  }

  abort(): void {
    for (const line of this.lines) line.abortVisit();
  }

  /** Runs moves one at a time. A waiting move rejects when its `signal` aborts, which prevents a deadlock. */
  async inTurn<Result>(signal: AbortSignal | undefined, move: () => Promise<Result>): Promise<Result> {
    const before = this.#moving;
    const turn = before ? (signal ? abortable(signal, () => before) : before).then(move) : move();
    const ended: Promise<unknown> = Promise.allSettled([before, turn]).then(() => {
      if (this.#moving === ended) this.#moving = undefined;
    });
    this.#moving = ended;
    return turn;
  }
}

export type LineEnd = { readonly output: unknown } | Wait | { readonly stopped: true };

/** The maximum number of node executions, which all branches of an agent share. */
export class Budget {
  readonly #most: number;
  /** The number of completed nodes. A move subtracts the nodes after its target. */
  #completed = 0;
  #visits = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(completed: number): void {
    this.#completed += completed;
  }

  take(nodeId: string): void {
    // A move lowers the number of completed nodes. The number of executions detects an endless loop of moves.
    if (Math.max(this.#completed, this.#visits) >= this.#most) throw new IterationLimitError(this.#most, nodeId);
    this.#visits++;
  }
}
