import type { InputRequestEvent } from "../feature/PipelineEvents.ts";
import type { RunState } from "../state/RunState.ts";
import type { ParallelPlan, EachBranchesPlan } from "../strategy/GraphPlan.ts";
import type { Wait } from "../node/NodeExecution.ts";
import { ActiveLine, type Nesting } from "./ActiveLine.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { startOfLane, type RunStart, type BranchResult } from "../feature/RunRequest.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import { z } from "zod";
import { DuplicateNameError } from "../../errors/strategyErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";

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
  /** The number of branches that wait for an answer, or that have an answer and wait until they may continue. */
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
   * Runs the branches. Resolves to their results in order, to the open requests if all wait, or to `undefined` if the
   * run moves. If a branch fails, rejects with the first error after the other branches have stopped.
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
    return new Map(this.#branches.map(({ key }) => [key, this.#results.get(key) as BranchResult]));
  }

  /** Continues and starts branches up to the limit of concurrent branches. Without any, the group waits or finishes. */
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

  /** If the run around the branches waits, continues the run. Called before a branch continues. */
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
      this.#failure ??= { error };
      if (this.#plan.onFailure === "stop") this.#line.stopNested();
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
    const end = await run.runLine(line);
    if ("waiting" in end) this.#left.push(...end.waiting);
    if ("output" in end) this.#results.set(key, branchResult(end.output, line.state, this.#start));
  }
}

/** Returns the path of a branch, including the enclosing nodes and branches. */
function branchPath({ branch, root }: ActiveLine, nodeId: string, key: string): string {
  if (branch === undefined) return `${nodeId}#${key}`;
  // In a branch, `nodeId` starts with the node of the branch, which `branch` already contains.
  return `${branch}${root === "" ? `/${nodeId}` : nodeId.slice(root.length)}#${key}`;
}

function branchResult(output: unknown, state: RunState, start: RunState): BranchResult {
  const { settings, requirements, decisions, iteration } = state;
  const { entries } = state.history;
  const before = start.history.entries;
  const isFollowed = before.every((entry, at) => entries[at]?.number === entry.number);
  return {
    output,
    ...(isFollowed ? { added: entries.slice(before.length) } : { added: addedIn(entries, before), history: entries }),
    storage: changedIn(state.storage.values, start.storage.values),
    settings,
    decisions: decisions.slice(start.decisions.length),
    requirements,
    iterations: iteration - start.iteration,
  };
}

function addedIn(entries: readonly NumberedMessage[], before: readonly NumberedMessage[]): readonly NumberedMessage[] {
  const known = new Set(before.map(({ number }) => number));
  return entries.filter(({ number }) => !known.has(number));
}

function changedIn(now: ReadonlyMap<string, unknown>, before: ReadonlyMap<string, unknown>): BranchResult["storage"] {
  const changed = new Map<string, { readonly value: unknown } | undefined>();
  for (const [key, value] of now) if (!before.has(key) || before.get(key) !== value) changed.set(key, { value });
  for (const key of before.keys()) if (!now.has(key)) changed.set(key, undefined);
  return changed;
}

/** Returns the start of a branch that has no stored position. @throws InvalidInputError for a wrong input. */
function branchStart(
  line: ActiveLine,
  { history }: ParallelPlan,
  { root, input }: Pick<PlannedBranch, "root" | "input">,
): RunStart {
  const { messages, ...others } = line.state.seed;
  const state = history === "fresh" || !messages ? others : { ...others, messages };
  const lane = line.run.nextLane++;
  return { ...beginningOf(line.graph, root, input), state, ...startOfLane(line, lane) };
}

function beginningOf(graph: StrategyGraph, root: string, input: unknown): Pick<RunStart, "nodeId" | "input"> {
  const around = root.split("/");
  const name = around.pop() ?? "";
  const node = graph.graphAt(around).nodes.get(name);
  if (node?.kind !== "subgraph") return { nodeId: root, input };
  return { nodeId: `${root}/start`, input: checkSchema(node.graph.input, input, `input of subgraph "${root}"`) };
}

interface PlannedBranch {
  readonly key: string;
  readonly root: string;
  readonly input: unknown;
}

/**
 * Returns the branches of a parallel node in order.
 *
 * @throws InvalidInputError, DuplicateNameError for the items of `graph.each`
 */
export function plannedBranches(graph: StrategyGraph, nodeId: string, input: unknown): readonly PlannedBranch[] {
  const plan = graph.branchesOf(nodeId);
  if (plan.kind === "named") return [...plan.nodes].map(([key, root]) => ({ key, root, input }));
  const items = checkSchema(itemsSchema, input, `input of node "${nodeId}"`) as readonly unknown[];
  const keys = items.map((item, index) => keyOf(plan, nodeId, item, index));
  const seen = new Set<string>();
  for (const key of keys) {
    if (seen.has(key)) throw new DuplicateNameError("duplicate_branch", key, nodeId);
    seen.add(key);
  }
  return items.map((item, index) => ({ key: keys[index] ?? "", root: plan.node, input: frozenCopy(item) }));
}

const itemsSchema = z.array(z.unknown());

function keyOf({ key }: EachBranchesPlan, nodeId: string, item: unknown, index: number): string {
  if (!key) return String(index);
  return checkSchema(z.string(), key(item, index), `key of item ${index} of node "${nodeId}"`) as string;
}
