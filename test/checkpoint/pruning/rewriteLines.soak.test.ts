import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentLog } from "../../../src/storage/AgentLog.ts";
import { checkpointData } from "../../../src/checkpoint/data/checkpointData.ts";
import { linePath } from "../../../src/checkpoint/data/linePath.ts";
import { validateRecord } from "../../../src/checkpoint/format/validateRecord.ts";
import { placesBelow, placesOnWay, placesUpTo } from "../../../src/checkpoint/lines/lineage.ts";
import { headsOf, neededCheckpoints } from "../../../src/checkpoint/pruning/neededCheckpoints.ts";
import { mergedAt } from "../../../src/checkpoint/state/BranchChanges.ts";
import { rewriteKept } from "../../../src/checkpoint/pruning/rewriteKept.ts";
import type { Entry } from "../../../src/checkpoint/records/Entry.ts";
import type { RestatedEntry } from "../../../src/checkpoint/records/AgentRecord.ts";
import { type AgentState, emptyState, nextVisitOf } from "../../../src/checkpoint/state/AgentState.ts";
import { type BranchChanges, branchesOf } from "../../../src/checkpoint/state/BranchChanges.ts";
import { foldLine, foldTo } from "../../../src/checkpoint/state/foldTo.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { ValueReader } from "../../../src/checkpoint/state/ValueReader.ts";
import { Pace } from "../../../src/internal/nextTurn.ts";
import { loggedCalls } from "../../../src/journal/loggedCalls.ts";
import { planRollback } from "../../../src/journal/planRollback.ts";
import { fullRetention } from "../../../src/persistence/config/RetentionPolicy.ts";
import { retainableAgent, planRetention } from "../../../src/persistence/retention/planPruning.ts";
import { GrownLog, type Step } from "../support/GrownLog.ts";
import { cases } from "../../soak/cases.ts";

const numRuns = cases(18, 1_500);
const steps: fc.Arbitrary<Step[]> = fc.array(fc.tuple(fc.nat(GrownLog.acts - 1), fc.nat(50), fc.nat(50)), {
  minLength: 1,
  maxLength: 90,
  size: "max",
});
const hasInverse = (tool: string): boolean => tool === "book";

const rewritten = (entries: readonly Entry[], index: LogProjection, kept: ReadonlySet<number>) =>
  rewriteKept(entries, index, kept, hasInverse, new Pace());

function entriesOf(restated: readonly RestatedEntry[]): Entry[] {
  return restated.map((entry) => ({ id: "", prev: "", ...entry }));
}

function indexOf(entries: readonly Entry[]): LogProjection {
  const index = new LogProjection();
  for (const entry of entries) {
    expect(validateRecord(entry, index)).toBeUndefined();
    index.add(entry);
  }
  return index;
}

/** What a policy leaves; `undefined`: all. */
function keptBy(index: LogProjection, maxCheckpoints: number): ReadonlySet<number> | undefined {
  const agent = retainableAgent(index);
  const plan = agent && planRetention(agent, fullRetention({ maxCheckpoints }), 0);
  return plan?.kind === "prune" ? plan.kept : undefined;
}

/** What a checkpoint says, without what depends on which others there are. */
function readAt(index: LogProjection, version: number): unknown {
  const point = index.checkpoints.get(version);
  if (!point) throw new TypeError(`There is no checkpoint ${version}.`);
  const {
    branches: _branches,
    parentId: _parent,
    toolCalls: _calls,
    runInput: _input,
    ...rest
  } = checkpointData(new AgentLog("a", index, new Map()), point);
  return rest;
}

/** What a line goes on with. */
function goingOn(index: LogProjection, lane: number): unknown {
  const state = foldLine(index, lane);
  if (!state) throw new TypeError(`There is no state of lane ${lane}.`);
  const reader = new ValueReader(state, new Map());
  const [base] = nextVisitOf(state);
  const { storage, settings, requirements, decisions, checkpoint } = state;
  return {
    history: state.history.map(({ number, message }) => [number, reader.read(message)]),
    input: reader.read(checkpoint?.record.input),
    version: checkpoint?.version,
    storage: new Map(storage),
    model: settings?.model,
    files: requirements?.files,
    decisions: decisions.map(({ decision }) => decision),
    ...ofVisit(state, base),
  };
}

function ofVisit({ answers, calls, requests }: AgentState, base: number): object {
  const isOfVisit = ({ visit }: { readonly visit: readonly [number, number] }) => visit[0] === base;
  return {
    answers: [...answers.values()].filter(isOfVisit).map(({ ordinal, message }) => [ordinal, message]),
    calls: [...calls.values()].filter(isOfVisit).map(({ call, intent, outcome }) => [call, intent, outcome]),
    requests: [...requests.values()]
      .filter(({ record }) => isOfVisit(record))
      .map(({ record, reply }) => [record, reply]),
  };
}

/** What a branch leaves to the join: a change to what was there before is none. */
function resultOf(index: LogProjection, fork: number, branch: BranchChanges): unknown {
  const reader = new ValueReader(emptyState, new Map());
  const before = foldTo(index, index.checkpoints.get(fork));
  const read = (entries: BranchChanges["messages"]) =>
    entries.map(({ number, message }) => [number, reader.read(message)]);
  const changes = [...branch.storage].filter(([key, change]) => change?.value !== before?.storage.get(key));
  return {
    output: branch.output,
    messages: read(branch.messages),
    storage: new Map(changes),
    decisions: branch.decisions.map(({ decision }) => decision),
    requirements: branch.requirements?.files,
    settings: branch.settings?.model,
    iterations: branch.iterations,
    ended: branch.checkpoint?.record.ended,
  };
}

/** What runs need that go on: of the open lines, and of the joins that are merged next from a kept checkpoint. */
function needs(index: LogProjection, kept: ReadonlySet<number>): unknown {
  const merged = [...kept].flatMap((version) => {
    const point = index.checkpoints.get(version);
    return (point && mergedAt(index, point)) ?? [];
  });
  const forks = new Set([...merged, ...headsOf(index).map(({ version }) => version)]);
  return {
    open: index.lines.openLanes,
    heads: headsOf(index).map(({ id }) => id),
    lines: index.lines.openLanes.map((lane) => [goingOn(index, lane), linePath(index, lane)]),
    joins: [...forks].map((fork) =>
      [...branchesOf(index, fork)].map(([key, branch]) => [key, resultOf(index, fork, branch)]),
    ),
  };
}

/** What a rollback to a checkpoint does, and what counts there. */
function around(index: LogProjection, version: number, kept: ReadonlySet<number>): unknown {
  const target = index.checkpoints.get(version);
  if (!target) throw new TypeError(`There is no checkpoint ${version}.`);
  const calls = loggedCalls(index, new Map());
  const plan = planRollback(index, calls, { target }, ({ tool }) => hasInverse(tool));
  const tests = [placesBelow, placesOnWay, placesUpTo].map((places) => places(index, target));
  // A run that follows another does without the notes of that.
  const isOfRun = (lane: number) => index.lanes.get(lane)?.runId === target.runId;
  const points = [...kept].flatMap((each) => index.checkpoints.get(each) ?? []);
  return {
    calls: [plan.revert, plan.irreversible, plan.inDoubt, plan.skipped].map((list) =>
      list.map((call) => [call.call, call.tool, call.input(), call.output(), linePath(index, call.lane).agentPath]),
    ),
    notes: tests.map((isThere) =>
      index.notes.flatMap((note) =>
        isOfRun(note.record.lane) && isThere(note.record.lane, note.order) && !index.revertedNotes.has(note)
          ? [note.record.value]
          : [],
      ),
    ),
    checkpoints: tests.map((isThere) =>
      points.filter(({ record, order }) => isThere(record.lane, order)).map((each) => each.version),
    ),
  };
}

const facts = (index: LogProjection) => ({
  version: index.nextVersion,
  lane: index.nextLane,
  latest: index.latest?.id,
  runs: [...index.runs],
  named: [...index.named].map(([name, [version]]) => [name, version]),
  reverted: [...index.reverted],
  status: index.statusState.checkpoint?.id,
});

async function checkPruned(log: GrownLog, kept: ReadonlySet<number>): Promise<void> {
  const { entries, index: before } = log;
  const restated = await rewritten(entries, before, kept);
  const after = indexOf(entriesOf(restated));
  expect(facts(after)).toEqual(facts(before));
  expect(new Set(after.checkpoints.keys())).toEqual(kept);
  expect(needs(after, kept)).toEqual(needs(before, kept));
  for (const version of kept) {
    expect([version, readAt(after, version)]).toEqual([version, readAt(before, version)]);
    expect([version, around(after, version, kept)]).toEqual([version, around(before, version, kept)]);
  }
  expect(await rewritten(entriesOf(restated), after, kept)).toEqual(restated);
}

describe("a pruned log of nested lines", () => {
  it("keeps the state, open lines, joins and rollbacks at the remaining checkpoints", async () => {
    const check = fc.asyncProperty(steps, fc.integer({ min: 2, max: 8 }), async (taken, most) => {
      const log = new GrownLog(taken);
      const kept = keptBy(log.index, most);
      if (!kept) return;
      await checkPruned(log, kept);
    });
    await fc.assert(check, { numRuns });
  });

  it("is the same whichever checkpoints are kept in addition to the needed ones", async () => {
    const check = fc.asyncProperty(steps, fc.array(fc.boolean(), { minLength: 5 }), async (taken, dice) => {
      const log = new GrownLog(taken);
      const { checkpoints, lanes } = log.index;
      const beginnings = [...lanes.values()].flatMap(({ record: { from, keep, place } }) =>
        from !== undefined && (keep === "all" || place) ? [from] : [],
      );
      const chosen = [...checkpoints.values()].flatMap(({ version, record }, at) =>
        record.id !== undefined || dice[at % dice.length] ? [version] : [],
      );
      const heads = headsOf(log.index).map(({ version }) => version);
      await checkPruned(log, neededCheckpoints(log.index, [...chosen, ...beginnings, ...heads]));
    });
    await fc.assert(check, { numRuns });
  });
});
