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

export class BranchGroup {
  readonly #line: ActiveLine;
  readonly #nodeId: string;
  readonly #plan: ParallelPlan;
  readonly #branches: readonly PlannedBranch[];
  readonly #start: RunState;
  readonly #results = new Map<string, BranchResult>();
  readonly #left: InputRequestEvent[] = [];
  #begun = 0;
  #running = 0;
  /** The number of branches that wait for an answer, or for a free slot after an answer. */
  #waiting = 0;
  readonly #answered: (() => void)[] = [];
  #failure: { readonly error: unknown } | undefined;
  #isWaiting = false;
  #lineGoesOn: Promise<void> | undefined;
  #ended: () => void = () => undefined;

  constructor(line: ActiveLine, nodeId: string, plan: ParallelPlan, branches: readonly PlannedBranch[]) {
    this.#line = line;
    this.#nodeId = nodeId;
    this.#plan = plan;
    this.#branches = branches;
    this.#start = line.state;
  }

  /**
   * Runs the branches. Resolves to their results in order, or to the open requests if all branches wait. Resolves to
   * `undefined` if the line moves.
   *
   * @throws the error of the first failed branch, when no other branch can continue.
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
    if (this.#results.size < this.#branches.length) return undefined;
    return new Map(
      this.#branches.flatMap(({ key }) => {
        const result = this.#results.get(key);
        return result ? [[key, result] as const] : [];
      }),
    );
  }

  /** Continues and starts branches while slots are free. If no branch can continue, the group waits or has finished. */
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

  /** Continues a branch, and the line if it waits. Resolves when the line can continue. */
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
    if ("output" in end) this.#results.set(key, branchResult(end.output, state, this.#start));
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    if (this.#plan.onFailure === "stop") this.#line.stopNested();
  }
}

/** Returns the path of a branch, which includes the enclosing nodes and branches. */
function branchPath({ branch, root }: ActiveLine, nodeId: string, key: string): string {
  if (branch === undefined) return `${nodeId}#${key}`;
  // The path of a branch ends with its node. Node paths of a sub-agent are relative to the sub-agent.
  return `${branch}${root === "" ? `/${nodeId}` : nodeId.slice(root.length)}#${key}`;
}
