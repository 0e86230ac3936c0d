import { addUsage, type ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
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

  /** Makes one move after another: each may end the lines that others were made by. */
  async inTurn<Result>(move: () => Promise<Result>): Promise<Result> {
    const turn = this.#moving ? this.#moving.then(move) : move();
    const ended: Promise<unknown> = turn
      .catch(() => undefined)
      .then(() => {
        if (this.#moving === ended) this.#moving = undefined;
      });
    this.#moving = ended;
    return turn;
  }
}
