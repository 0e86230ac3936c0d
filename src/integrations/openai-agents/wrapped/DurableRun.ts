import type { RunToolApprovalItem, Session } from "@openai/agents-core";
import type { HostedLoop } from "../../hosted/HostedLoop.ts";
import { Mutex } from "../../../internal/Mutex.ts";
import type { KnownTools } from "./KnownTools.ts";
import { ProvidedIds } from "./ProvidedIds.ts";
import type { AnyAgent, AnyTool } from "./AnyAgent.ts";

/** One run in this process: what its wrappers share. */
export class DurableRun {
  readonly ids = new ProvidedIds();
  /** The durable agents, by those that they stand for. */
  readonly agents = new WeakMap<AnyAgent, AnyAgent>();
  readonly tools = new WeakMap<AnyTool, AnyTool>();
  /** The sessions as the run sees them, by the session and the tool call that uses it. */
  readonly sessions = new WeakMap<Session, Map<string | undefined, Session>>();
  /** The approvals that the loops of the run have stopped for, by the library's ids of their calls. */
  readonly approvals = new Map<string, RunToolApprovalItem>();
  readonly #turns = new Map<string, Mutex>();

  /** @param isFinished whether the run is over, and only its records are read. */
  constructor(
    readonly loop: HostedLoop,
    readonly knownTools: KnownTools,
    readonly isFinished: boolean,
  ) {}

  /**
   * Whether the run may change a session now: once all that it has recorded is durable. A run that has finished has made its
   * changes; one that was stopped makes them when it is resumed.
   */
  async mayChange(): Promise<boolean> {
    const { loop } = this;
    if (this.isFinished || loop.signal.aborted || loop.failure) return false;
    await loop.durable();
    return true;
  }

  /** Runs of agents within one tool call take turns: their requests are told apart by their order. */
  turnOf(toolCallId: string): Mutex {
    const known = this.#turns.get(toolCallId);
    if (known) return known;
    const turns = new Mutex();
    this.#turns.set(toolCallId, turns);
    return turns;
  }
}
