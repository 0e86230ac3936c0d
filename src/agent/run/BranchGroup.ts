import type { BranchResult } from "../feature/BranchResult.ts";
import type { InputRequestEvent } from "../feature/PipelineEvents.ts";
import type { RunState } from "../state/RunState.ts";
import type { ParallelPlan } from "../strategy/GraphPlan.ts";
import type { Wait } from "../visit/NodeExecution.ts";
import { ActiveLine } from "./ActiveLine.ts";
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
  /** How many of them wait. */
  #waiting = 0;
  #failure: { readonly error: unknown } | undefined;
  /** True once the line was told that all of it waits. */
  #isWaiting = false;
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

  /** Begins branches as far as there is room. When none can go on, the group waits or has ended. */
  #goOn(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#begun++;
      this.#running++;
      void this.#run(next);
    }
    if (this.#running > 0) return;
    if (this.#waiting === 0) this.#ended();
    else if (this.#failure) this.#line.stopWaiting();
    else if (!this.#isWaiting) this.#tell(true);
  }

  #next(): PlannedBranch | undefined {
    const { concurrency } = this.#plan.branches.kind === "each" ? this.#plan.branches : { concurrency: Infinity };
    const isOver =
      this.#line.isLeaving || this.#line.signal.aborted || (this.#failure && this.#plan.onFailure === "stop");
    return isOver || this.#running >= concurrency ? undefined : this.#branches[this.#begun];
  }

  #tell(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    this.#line.waits(isWaiting);
  }

  async #run(branch: PlannedBranch): Promise<void> {
    let isWaiting = false;
    const onWaiting = (waits: boolean) => {
      isWaiting = waits;
      this.#waiting += waits ? 1 : -1;
      this.#running += waits ? -1 : 1;
      if (waits) this.#goOn();
      else if (this.#isWaiting) this.#tell(false);
    };
    try {
      await this.#runToEnd(branch, onWaiting);
    } catch (error) {
      this.#fail(error);
    }
    if (isWaiting) this.#waiting--;
    else this.#running--;
    this.#goOn();
  }

  async #runToEnd({ key, root, input }: PlannedBranch, onWaiting: (waits: boolean) => void): Promise<void> {
    const { run, definition, pipeline } = this.#line;
    const start = branchStart(this.#line, this.#plan, { root, input });
    const event = { run: this.#line, nodeId: this.#nodeId, key, start };
    const begun = await pipeline.around("branch", event, async (accepted) => accepted);
    if ("result" in begun) {
      this.#line.budget.add(begun.result.iterations);
      this.#results.set(key, begun.result);
      return;
    }
    const nesting = { parent: this.#line, root, branch: branchPath(this.#line, this.#nodeId, key), onWaiting };
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
