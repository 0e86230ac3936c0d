import type { RunLine } from "../checkpoint/toolCallId.ts";
import { ExecutionMovedError } from "../errors/ExecutionMovedError.ts";
import type { ActiveRun } from "./ActiveRun.ts";
import type { InterruptOptions } from "./AgentRun.ts";
import { Flights } from "./Flights.ts";
import type { NodeVisit } from "./NodeVisit.ts";
import type { PipelineEvents } from "./PipelineEvents.ts";
import type { RunState } from "./RunState.ts";

/**
 * One visit of one node, from its start until its body and all calls made in it have settled. A move closes it: from
 * then on everything that belongs to it throws, whatever still runs.
 */
export class Visit {
  readonly run: ActiveRun;
  readonly nodeId: string;
  readonly input: unknown;
  readonly at: NodeVisit;
  /** Of the moment the visit began: a later move changes those of the run. */
  readonly line: RunLine;
  readonly state: RunState;
  readonly #flights = new Flights();
  /** Made when somebody asks for the signal: most nodes never do. */
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #moved: ExecutionMovedError | undefined;
  /** Set when the run was aborted and went on without what ignored it. */
  #abandoned: { readonly reason: unknown } | undefined;
  #abandon: () => void = () => undefined;
  #cancelGrace: () => void = () => undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(run: ActiveRun, nodeId: string, input: unknown, at: NodeVisit) {
    this.run = run;
    this.nodeId = nodeId;
    this.input = input;
    this.at = at;
    this.line = run.line;
    this.state = run.state;
  }

  /** Aborted when the run is aborted or moves. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** Whether the run has left this visit. */
  get isMoved(): boolean {
    return this.#moved !== undefined;
  }

  /** What a feature threw during the visit: it fails the run even when the node caught it. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** @throws ExecutionMovedError when the run has left this visit. */
  assertOpen(): void {
    if (this.#moved) throw this.#moved;
    if (this.#abandoned) throw this.#abandoned.reason;
  }

  /** Runs a tool call or a model request that a move or an abort of the run cuts short. */
  async launch<Result>(
    toolCallId: string | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    this.assertOpen();
    this.signal.throwIfAborted();
    return this.#flights.launch(toolCallId, work);
  }

  /** A tool call goes on under another id, under which it may ask for a move. */
  rename(toolCallId: string, renamed: string): void {
    this.#flights.rename(toolCallId, renamed);
  }

  /** Tells listeners; what one of them throws fails the run. A visit the run has left is not told about. */
  async tell<Name extends keyof PipelineEvents>(name: Name, event: PipelineEvents[Name]): Promise<void> {
    if (this.#moved || this.#abandoned) return;
    try {
      await this.run.pipeline.emit(name, event);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Notes what a feature threw, and throws it. */
  fail(error: unknown): never {
    this.#failure ??= { error };
    throw error;
  }

  /** Aborts everything in flight because the run is aborted; it is waited for until the grace is over. */
  abort(reason: unknown): void {
    this.#abort(reason);
    this.#flights.abort(reason);
    const { ms, clock } = this.run.pipeline.abortGrace;
    this.#cancelGrace = clock.after(ms, () => {
      this.#abandoned = { reason };
      this.#flights.letGo(reason);
      this.#abandon();
    });
  }

  /** Resolves with the work, or to `undefined` when the run was aborted and the grace ends first. */
  async untilAbandoned<Result>(work: Promise<Result>): Promise<Result | undefined> {
    try {
      return await new Promise<Result | undefined>((resolve, reject) => {
        this.#abandon = () => resolve(undefined);
        work.then(resolve, reject);
      });
    } finally {
      this.#cancelGrace();
    }
  }

  /** Closes the visit, aborts all in flight but the call that asks, and lets go of whoever waits for it. */
  close(except?: string): void {
    if (this.#moved) return;
    this.#moved = new ExecutionMovedError(this.nodeId);
    this.#abort(this.#moved);
    this.#flights.abort(this.#moved, except);
    this.#flights.letGo(this.#moved);
  }

  /** {@link close}, then waits for what is in flight; resolves to the ids of tool calls that did not end in time. */
  async interrupt({ except }: InterruptOptions): Promise<readonly string[]> {
    this.close(except);
    await this.#flights.ended(except, this.run.pipeline.abortGrace);
    return this.#flights.toolCallIds(except);
  }

  /** Resolves when nothing of the visit goes on that the run has to wait for. */
  settled(): Promise<void> {
    return this.#flights.settled();
  }

  #abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }
}
