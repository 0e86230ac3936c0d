import type { BranchResult } from "../feature/BranchResult.ts";
import type { InputRequestEvent } from "../feature/PipelineEvents.ts";
import type { RunState } from "../state/RunState.ts";
import type { ParallelPlan } from "../strategy/GraphPlan.ts";
import type { Wait } from "../visit/NodeExecution.ts";
import { ActiveLine, type Nesting } from "./ActiveLine.ts";
import { branchResult } from "./branchResult.ts";
import { branchStart } from "./branchStart.ts";
import type { PlannedBranch } from "./plannedBranches.ts";
import type { LineEnd } from "./LineEnd.ts";

/** The branches of one visit of a parallel node. */
export class BranchGroup {
  readonly #line: ActiveLine;
  readonly #nodeId: string;
  readonly #plan: ParallelPlan;
  readonly #branches: readonly PlannedBranch[];
  readonly #fork: RunState;
  readonly #results = new Map<string, BranchResult>();
  readonly #left: InputRequestEvent[] = [];
  /** How many branches were begun. */
  #begun = 0;
  /** How many of them can go on. */
  #running = 0;
  /** How many of them wait: for an answer, or answered for others to wait or end. */
  #waiting = 0;
  /** Those that are answered, in the order in which they were. */
  readonly #answered: (() => void)[] = [];
  #failure: { readonly error: unknown } | undefined;
  /** True once the line was told that all of it waits. */
  #isWaiting = false;
  /** Resolves when the line, which has waited, may go on. */
  #lineGoesOn: Promise<void> | undefined;
  #ended: () => void = () => undefined;

  constructor(line: ActiveLine, nodeId: string, plan: ParallelPlan, branches: readonly PlannedBranch[]) {
    this.#line = line;
    this.#nodeId = nodeId;
    this.#plan = plan;
    this.#branches = branches;
    this.#fork = line.state;
  }

  /**
   * Runs the branches. Resolves to what they left, in their order; to the requests that are left when no line can go on; or
   * to `undefined` if the line moves.
   *
   * @throws the error of the first branch that failed, once no other can go on.
   */
  async run(): Promise<ReadonlyMap<string, BranchResult> | Wait | undefined> {
    const ended = new Promise<void>((resolve) => (this.#ended = resolve));
    this.#goOn();
    await ended;
    if (this.#line.isLeaving) {
      for (const { iterations } of this.#results.values()) this.#line.budget.add(-iterations);
      return undefined;
    }
    if (this.#failure) throw this.#failure.error;
    if (this.#left.length > 0) return { waiting: this.#left };
    // What stopped some of them stops the line, too.
    if (this.#results.size < this.#branches.length) return undefined;
    return new Map(
      this.#branches.flatMap(({ key }) => {
        const result = this.#results.get(key);
        return result ? [[key, result] as const] : [];
      }),
    );
  }

  /** Continues and begins branches as far as there is room. When none can go on, the group waits or has ended. */
  #goOn(): void {
    while (this.#hasRoom && this.#answered.length > 0) this.#answered.shift()?.();
    for (let next = this.#next(); next; next = this.#next()) {
      this.#begun++;
      this.#running++;
      void this.#run(next);
    }
    if (this.#running > 0) return;
    if (this.#waiting === 0) this.#ended();
    else if (this.#failure) this.#line.stopWaiting();
    else if (!this.#isWaiting) {
      this.#isWaiting = true;
      this.#line.waits();
    }
  }

  get #hasRoom(): boolean {
    const { branches } = this.#plan;
    return branches.kind !== "each" || this.#running < branches.concurrency;
  }

  #next(): PlannedBranch | undefined {
    const isOver =
      this.#line.isLeaving || this.#line.signal.aborted || (this.#failure && this.#plan.onFailure === "stop");
    return isOver || !this.#hasRoom ? undefined : this.#branches[this.#begun];
  }

  /** A branch goes on, and with it the line, if that has waited. Resolves when the line may. */
  async #lineGoingOn(): Promise<void> {
    if (this.#isWaiting) this.#lineGoesOn = this.#line.goesOn();
    this.#isWaiting = false;
    await this.#lineGoesOn;
  }

  async #run(branch: PlannedBranch): Promise<void> {
    let isWaiting = false;
    const wait = (waits: boolean) => {
      isWaiting = waits;
      this.#waiting += waits ? 1 : -1;
      this.#running += waits ? -1 : 1;
    };
    const onWaiting = () => {
      wait(true);
      this.#goOn();
    };
    const onGoingOn = () =>
      new Promise<void>((resolve) => {
        this.#answered.push(() => {
          wait(false);
          resolve(this.#lineGoingOn());
        });
        this.#goOn();
      });
    try {
      await this.#runToEnd(branch, { onWaiting, onGoingOn });
    } catch (error) {
      this.#fail(error);
    }
    if (isWaiting) this.#waiting--;
    else this.#running--;
    this.#goOn();
  }

  async #runToEnd({ key, root, input }: PlannedBranch, told: Pick<Nesting, "onWaiting" | "onGoingOn">): Promise<void> {
    const { run, definition, pipeline } = this.#line;
    const start = branchStart(this.#line, this.#plan, { root, input });
    const event = { run: this.#line, nodeId: this.#nodeId, key, start };
    const begun = await pipeline.around("branch", event, async (accepted) => accepted);
    if ("result" in begun) {
      this.#line.budget.add(begun.result.iterations);
      this.#results.set(key, begun.result);
      return;
    }
    const nesting = { parent: this.#line, root, branch: branchPath(this.#line, this.#nodeId, key), ...told };
    const line = new ActiveLine(run, definition, begun.start, { isFresh: false, nesting });
    this.#take(key, line, await run.runLine(line));
  }

  #take(key: string, { state }: ActiveLine, end: LineEnd): void {
    if ("waiting" in end) this.#left.push(...end.waiting);
    if ("output" in end) this.#results.set(key, branchResult(end.output, state, this.#fork));
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    if (this.#plan.onFailure === "stop") this.#line.stopNested();
  }
}

/** The path of a branch: of the nodes around it, with the branch that each is in. */
function branchPath({ branch, root }: ActiveLine, nodeId: string, key: string): string {
  if (branch === undefined) return `${nodeId}#${key}`;
  // A branch is at its node; a sub-agent has nodes of its own.
  return `${branch}${root === "" ? `/${nodeId}` : nodeId.slice(root.length)}#${key}`;
}
