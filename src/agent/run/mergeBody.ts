import type { Message } from "../../checkpoint/messages/Message.ts";
import { BranchConflictError } from "../../errors/strategyErrors.ts";
import type { AgentContext, BranchOf } from "../context/AgentContext.ts";
import { isRunMoved } from "../strategy/Strategy.ts";
import type { BranchResult } from "../feature/RunRequest.ts";
import type { RunState } from "../state/RunState.ts";
import { TypedStorage } from "../state/TypedStorage.ts";
import type { LeafPlan, ParallelPlan } from "../strategy/GraphPlan.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";

export function mergeBody(state: RunState, { nodeId, plan, joined }: Join): LeafPlan["run"] {
  return async (_input, context) => {
    const fork = new Map(state.storage.values);
    const { agreed, conflicts } = storageChanges(joined, fork);
    state.storage.replace(agreed);
    const decided = state.storage.watch();
    const { messages } = context.llm;
    let isAdopted = false;
    const onAdopt = () => void (isAdopted = true);
    const start: MergeStart = { state, fork, history: messages, context, onAdopt };
    const branches = [...joined].map(([key, result]) => [key, branchOf(result, start)] as const);
    const output = await plan.merge(...mergeArguments(plan, joined, context, branches));
    const left = isAdopted ? [] : [...conflicts].filter(([key]) => !decided.has(key));
    if (left.length > 0 && !isRunMoved(output)) throw new BranchConflictError(nodeId, Object.fromEntries(left));
    return output;
  };
}

interface Join {
  readonly nodeId: string;
  readonly plan: ParallelPlan;
  readonly joined: ReadonlyMap<string, BranchResult>;
}

function mergeArguments(
  { branches: { kind } }: ParallelPlan,
  joined: ReadonlyMap<string, BranchResult>,
  context: AgentContext,
  branches: readonly (readonly [key: string, branch: BranchOf<unknown>])[],
): [results: unknown, context: AgentContext] {
  const isNamed = kind === "named";
  const outputs = [...joined].map(([key, { output }]) => [key, output] as const);
  return [
    Object.freeze(isNamed ? Object.fromEntries(outputs) : outputs.map(([, output]) => output)),
    Object.assign(context, {
      branches: isNamed
        ? Object.fromEntries(branches)
        : branches.map(([key, branch]) => Object.assign(branch, { key })),
    }),
  ];
}

interface MergeStart {
  readonly state: RunState;
  readonly fork: ReadonlyMap<string, unknown>;
  readonly history: readonly Message[];
  readonly context: AgentContext;
  /** Called when `merge` adopts a branch, whose values then resolve all storage conflicts. */
  readonly onAdopt: () => void;
}

function branchOf(result: BranchResult, { state, fork, history, context, onAdopt }: MergeStart): BranchOf<unknown> {
  let storage: TypedStorage | undefined;
  return {
    output: result.output,
    messages: Object.freeze(result.added.map(({ message }) => message)),
    get storage() {
      return (storage ??= new TypedStorage(storageOf(result, fork)));
    },
    adopt() {
      context.llm.rewrite(() =>
        result.history ? messagesOf(result.history) : [...history, ...messagesOf(result.added)],
      );
      onAdopt();
      state.replaceSettings(result.settings);
      state.storage.become(storageOf(result, fork));
    },
  };
}

function messagesOf(entries: BranchResult["added"]) {
  return entries.map(({ message }) => message);
}

function storageOf({ storage }: BranchResult, atStart: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  const values = new Map(atStart);
  for (const [key, change] of storage) {
    if (change) values.set(key, change.value);
    else values.delete(key);
  }
  return values;
}

type Change = { readonly value: unknown } | undefined;

interface StorageChanges {
  /** The changes of keys that one branch changed, or that several branches changed to the same value. */
  readonly agreed: ReadonlyMap<string, Change>;
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
}

function storageChanges(
  branches: ReadonlyMap<string, Pick<BranchResult, "storage">>,
  atStart: ReadonlyMap<string, unknown>,
): StorageChanges {
  const changes = new Map<string, { readonly change: Change; readonly branches: string[]; differs: boolean }>();
  for (const [branch, { storage }] of branches) {
    for (const [key, change] of storage) {
      if (isSameChange(change, atStart.has(key) ? { value: atStart.get(key) } : undefined)) continue;
      const known = changes.get(key);
      if (!known) {
        changes.set(key, { change, branches: [branch], differs: false });
        continue;
      }
      known.branches.push(branch);
      known.differs ||= !isSameChange(known.change, change);
    }
  }
  const all = [...changes];
  return {
    agreed: new Map(all.flatMap(([key, { change, differs }]) => (differs ? [] : [[key, change] as const]))),
    conflicts: new Map(all.flatMap(([key, found]) => (found.differs ? [[key, found.branches] as const] : []))),
  };
}

function isSameChange(a: Change, b: Change): boolean {
  if (a === undefined || b === undefined) return a === b;
  return Object.is(a.value, b.value) || isSameValue(a.value, b.value);
}
