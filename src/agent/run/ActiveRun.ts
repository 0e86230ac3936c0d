import { addUsage, type ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import { abortable } from "../../internal/abortable.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { RunRequest } from "../feature/RunRequest.ts";
import type { SubAgent } from "../feature/SubAgent.ts";
import { DeltaSender } from "../visit/DeltaSender.ts";
import type { AgentCall } from "../visit/NodeExecution.ts";
import type { LineEnd } from "./LineEnd.ts";

/** A run in progress: what all of its lines share. */
export class ActiveRun<Line extends { abortVisit(): void }> {
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly deltas: DeltaSender | undefined;
  /** The lines that have begun and not ended. */
  readonly lines = new Set<Line>();
  /** The lanes of lines that no feature records are numbered from here. */
  nextLane = 1;
  usage: ModelUsage | undefined;
  /** The last move that has not ended; fulfilled when it has, either way. */
  #moving: Promise<unknown> | undefined;

  constructor(
    { agentId, options, start }: RunRequest,
    readonly sha256: Sha256,
    /** Runs a line to its end. */
    readonly runLine: (line: Line) => Promise<LineEnd>,
    /** Runs a sub-agent for a tool call of a line. */
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

  /** Aborts the visits of all lines, because the run is aborted. */
  abort(): void {
    for (const line of this.lines) line.abortVisit();
  }

  /**
   * Makes one move after another. Each may end the nodes that ask for others, and waits for these to end: what they ask for is
   * refused as soon as `signal` says so.
   */
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
