import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { headSnapshot } from "../../../src/checkpoint/data/headSnapshot.ts";
import { hasOneLine, openLineStates, unreachedLine } from "../../../src/checkpoint/data/openLines.ts";
import { validateRecord } from "../../../src/checkpoint/format/validateRecord.ts";
import { runsLeft } from "../../../src/checkpoint/lines/afterRollback.ts";
import { linesTo, openLaneOf, placesOnWay } from "../../../src/checkpoint/lines/lineage.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import type { Visit } from "../../../src/checkpoint/records/Visit.ts";
import { type AgentState, nextVisitOf, visitAt } from "../../../src/checkpoint/state/AgentState.ts";
import { branchesOf } from "../../../src/checkpoint/state/BranchChanges.ts";
import { callsOf, foldLine, foldTo, stateAt } from "../../../src/checkpoint/state/foldTo.ts";
import { byValue } from "../../../src/checkpoint/state/leanState.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { findRollbackGoal, isEnoughForRollback } from "../../../src/journal/findCheckpoint.ts";
import { type LoggedCall, loggedCalls } from "../../../src/journal/loggedCalls.ts";
import { planRollback } from "../../../src/journal/planRollback.ts";
import { runAt } from "../../../src/persistence/executionPoint/continueFromHead.ts";
import { AgentLog } from "../../../src/storage/AgentLog.ts";
import { branch, checkpoint, extended, lane, projectionOf, run, subAgent } from "../support/projection.ts";
import { cases } from "../../soak/cases.ts";

type Step = readonly [act: number, which: number, other: number];

/** What one open line records next, given a random choice. */
class Growth {
  readonly index = projectionOf([run, lane(1, { keep: "nothing" }), settings(1, "m"), checkpoint(1, 1)]);
  /** Every append, so that a reader can begin in the middle. */
  readonly appends: (readonly AgentRecord[])[] = [];

  append(...records: readonly AgentRecord[]): void {
    this.appends.push(records);
    extended(this.index, records);
  }

  step([act, which, other]: Step): void {
    const { index } = this;
    const going = index.lines.openLanes.filter((each) => !index.latestOf(each)?.record.ended);
    const on = going[which % going.length] ?? 1;
    const newest = index.latestOf(on);
    if (!newest) return;
    const { nextVersion: version, nextLane: next, nextNumber: number } = index;
    const waiting = index.lines.branchesOf(newest.version).map((line) => index.latestOf(line.lane));
    const iteration = newest.record.iteration + 1;
    if (waiting.length > 0) {
      if (waiting.every((each) => each?.record.ended))
        this.append(checkpoint(on, version, { node: newest.record.node, joined: newest.version, iteration }));
      else if (waiting.length < 3 && other % 4 === 0)
        this.append(...branch(next, version, [on, newest.version, `b${waiting.length}`]));
      return;
    }
    const visit = visitAt(newest);
    const acts: readonly (() => void)[] = [
      () => this.append(stored(on, other)),
      () => this.append(stored(on, other)),
      () => this.append({ kind: "decision", lane: on, at: 0, node: "n", decision: `d${number}` }),
      () => this.append(settings(on, `m${other}`)),
      () => this.append({ kind: "requirements", lane: on, files: [`f${other}`], environment: {} }),
      () =>
        this.append(answer(on, visit, number), {
          kind: "message",
          lane: on,
          number,
          message: { $answer: [...visit, number] },
        }),
      () =>
        this.append(answer(on, visit, number), {
          kind: "message",
          lane: on,
          number,
          message: { $answer: [...visit, number] },
        }),
      () => this.append(outcome(on, visit, `o${number}`), message(on, number, `o${number}`)),
      () => this.begin(on, visit, other),
      () => this.edit(on, other),
      () => this.append(checkpoint(on, version, { iteration })),
      () => this.append(checkpoint(on, version, { iteration })),
      () => this.append(checkpoint(on, version, { iteration: iteration - 1, visit })),
      () =>
        this.append(
          ...branch(next, version, [on, newest.version, "b0"], { keep: other % 3 ? "all" : "state" }),
          ...branch(next + 1, version + 1, [on, newest.version, "b1"]),
        ),
      () =>
        this.append(
          ...branch(next, version, [on, newest.version, "b0"]),
          ...branch(next + 1, version + 1, [on, newest.version, "b1"]),
        ),
      () => this.append(...subAgent(next, version, [on, `c${version}`])),
      () => this.end(on, other),
      () => this.end(on, other),
      () => this.goBack(on, other),
    ];
    acts[act % acts.length]?.();
  }

  /** Makes a call, whose outcome may be missing. No id is used twice. */
  begin(on: number, visit: Visit, other: number): void {
    const call = `i${this.index.nextNumber}`;
    if (callsOf(this.index).some((known) => known.call === call)) return;
    const facts = { tool: "t", effect: "reversible", node: "n", ...(other % 4 !== 0 && { input: other }) };
    const end = { kind: "outcome", lane: on, visit, call, output: other } as const;
    this.append({ kind: "intent", lane: on, visit, call, ...facts }, ...(other % 3 === 0 ? [end] : []), stored(on, 1));
  }

  /** Ends the visit of the main line. */
  save(): void {
    const { lines, nextVersion } = this.index;
    const iteration = (this.index.latest?.record.iteration ?? 0) + 1;
    this.append(checkpoint(lines.mainLane, nextVersion, { iteration }));
  }

  edit(on: number, other: number): void {
    const { history } = foldLine(this.index, on) ?? { history: [] };
    const one = history[other % (history.length + 1)]?.number;
    if (one === undefined) return;
    const insert = [{ number: this.index.nextNumber, message: { role: "user", content: `e${other}` } }];
    this.append({
      kind: "edit",
      lane: on,
      remove: [[one, one + (other % 2)]],
      insert: other % 3 ? insert : [],
      before: one + 2,
    });
  }

  end(on: number, other: number): void {
    const { latest, nextVersion } = this.index;
    if (on === latest?.record.lane) return;
    const iteration = this.index.latestOf(on)?.record.iteration ?? 0;
    this.append(checkpoint(on, nextVersion, { ended: true, input: `out${other}`, iteration }));
  }

  goBack(on: number, other: number): void {
    const { index } = this;
    const newest = index.latestOf(on);
    const isOnWay = newest ? placesOnWay(index, newest) : () => false;
    const way = [...index.checkpoints.values()].filter(({ record, order }) => isOnWay(record.lane, order));
    const target = way[other % way.length];
    if (!target) return;
    const place = index.lanes.get(target.record.lane)?.record.place;
    const { joined, iteration } = target.record;
    this.append(
      lane(index.nextLane, { from: target.version, ...(place && { place }) }),
      checkpoint(index.nextLane, index.nextVersion, {
        visit: visitAt(target),
        iteration,
        ...(joined !== undefined && { joined }),
      }),
    );
  }
}

function settings(on: number, model: string): AgentRecord {
  return { kind: "settings", lane: on, model, tools: [] };
}

function stored(on: number, other: number): AgentRecord {
  const key = `k${other % 5}`;
  return other % 4 === 0 ? { kind: "storage", lane: on, key } : { kind: "storage", lane: on, key, value: { other } };
}

function answer(on: number, visit: Visit, ordinal: number): AgentRecord {
  const content = [{ type: "tool-call", toolCallId: `i${ordinal + 1}`, toolName: "t", input: ordinal }];
  return { kind: "answer", lane: on, visit, ordinal, node: "n", message: { role: "assistant", content } };
}

function outcome(on: number, visit: Visit, call: string): AgentRecord {
  const facts = { tool: "t", effect: "reversible", node: "n", input: call } as const;
  return { kind: "outcome", lane: on, visit, call, ...facts, output: `out of ${call}` };
}

function message(on: number, number: number, call: string): AgentRecord {
  const part = { type: "tool-result", toolCallId: call, toolName: "t" };
  return { kind: "message", lane: on, number, message: { $outcomes: [{ part }] } };
}

/** What a run needs of a state to go on from it. */
function needed(state: AgentState) {
  const [base] = nextVisitOf(state);
  const ofVisit = ({ visit }: { readonly visit: Visit }) => visit[0] === base;
  const { version, record, id } = state.checkpoint ?? {};
  return {
    checkpoint: { version, id, node: record?.node, input: record?.input, visit: record?.visit },
    history: state.history.map(({ number, message: slot }) => [number, byValue(slot, state)]),
    storage: Object.fromEntries(state.storage),
    model: state.settings?.model,
    files: state.requirements?.files,
    decisions: state.decisions.map(({ decision }) => decision),
    answers: [...state.answers.values()].filter(ofVisit).map(({ ordinal, message: slot }) => [ordinal, slot]),
    calls: [...state.calls.values()]
      .filter(ofVisit)
      // On which of its lanes a line recorded a call is of no account.
      .map(({ call, intent, outcome: end }) => [call, intent && { ...intent, lane: 0 }, end?.output]),
  };
}

/** What a process needs of a log to go on from its head. */
function head(index: LogProjection) {
  const { lines, latest } = index;
  expect(unreachedLine(index)).toBeUndefined();
  const states = openLineStates(index);
  const main = foldTo(index);
  // Ended sub-agents have their outcomes.
  const open = lines.openLanes.filter((each) => {
    const place = lines.nestedLine(each)?.place;
    return !(place && "call" in place && index.latestOf(each)?.record.ended);
  });
  const forks = open.flatMap((each) => index.latestOf(each)?.version ?? []);
  return {
    open,
    main: main && needed(main),
    states: [...states].map(([each, state]) => [each, needed(state)]),
    branches: forks.map((fork) =>
      [...branchesOf(index, fork)].map(
        ([key, { output, messages, storage, decisions, iterations, checkpoint: newest }]) => [
          key,
          newest?.version,
          ...(newest?.record.ended
            ? [output, messages, Object.fromEntries(storage), decisions.map(({ decision }) => decision), iterations]
            : []),
        ],
      ),
    ),
    next: [index.nextVersion, index.nextLane, index.nextNumber],
    latest: latest?.version,
    status: index.statusState.current,
    checkpoint: index.statusState.checkpoint,
  };
}

/** What a rollback to a checkpoint would do. */
function rollback(index: LogProjection, id: string) {
  const log = new AgentLog("a", index, new Map());
  const goal = findRollbackGoal(log, id);
  const plan = planRollback(
    index,
    loggedCalls(index, log.blobs),
    goal,
    ({ effect }) => effect !== "none",
    () => false,
  );
  const lists = Object.entries(plan).map(([name, calls]) => [
    name,
    (calls as readonly (string | LoggedCall)[]).map((call) =>
      typeof call === "string" ? call : [call.call, call.tool, call.node, call.input(), call.agentPath, call.version],
    ),
  ]);
  const { run, reopens } = runAt(goal.target, index);
  return plain({
    lists,
    run,
    reopens,
    state: needed(stateAt(index, goal.target)),
    left: runsLeft(index, { target: goal.target.version }),
    lane: openLaneOf(index, goal.target.record.lane),
  });
}

/** A projection that begins at a snapshot, as it is read from a file. */
function begunAt(snapshot: AgentRecord, position: number): LogProjection {
  const index = new LogProjection();
  const records = JSON.parse(JSON.stringify([snapshot])) as AgentRecord[];
  const entry = { position, generation: 1, id: `1-${position}`, records, checksum: "", prev: "" };
  const defect = validateRecord(entry);
  if (defect !== undefined) throw new TypeError(defect);
  index.add(entry);
  return index;
}

const steps = fc.array(fc.tuple(fc.nat(18), fc.nat(50), fc.nat(50)), { minLength: 5, maxLength: 80, size: "max" });
const numRuns = cases(50, 4_000);

/** As it comes back from JSON. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("a snapshot of random lines", () => {
  it("replaces all records before it, now, after later records, and after the next snapshot", () => {
    let taken = 0;
    let nested = 0;
    let rolledBack = 0;
    const check = fc.property(steps, steps, fc.boolean(), (before, after, isSaved) => {
      const growth = new Growth();
      for (const step of before) growth.step(step);
      if (isSaved && hasOneLine(growth.index)) growth.save();
      const snapshot = headSnapshot(growth.index);
      if (!snapshot) return;
      taken++;
      if (!hasOneLine(growth.index)) nested++;
      extended(growth.index, [snapshot]);
      const restored = begunAt(snapshot, growth.index.position);
      expect(plain(head(restored))).toEqual(plain(head(growth.index)));
      const next = growth.appends.length;
      for (const step of after) growth.step(step);
      extended(restored, ...growth.appends.slice(next));
      for (const { id } of growth.index.checkpoints.values()) {
        if (!isEnoughForRollback(new AgentLog("a", restored, new Map()), id)) continue;
        expect(rollback(restored, id)).toEqual(rollback(growth.index, id));
        rolledBack++;
      }
      const isReadable = unreachedLine(restored) === undefined && foldTo(restored) !== undefined;
      // What went back to before the snapshot is read from the start.
      if (!isReadable) return;
      expect(plain(head(restored))).toEqual(plain(head(growth.index)));
      const second = headSnapshot(restored);
      if (!second) return;
      extended(growth.index, [second]);
      expect(plain(head(begunAt(second, growth.index.position)))).toEqual(plain(head(growth.index)));
    });
    fc.assert(check, { numRuns });
    expect(taken).toBeGreaterThan(numRuns / 5);
    expect(nested).toBeGreaterThan(numRuns / 20);
    expect(rolledBack).toBeGreaterThan(numRuns / 20);
  });
});

describe("a snapshot", () => {
  it("is not made during a rollback or a merge", () => {
    const log = () =>
      projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)], [...branch(2, 2, [1, 1, "a"])]);
    expect(headSnapshot(log())).toBeDefined();
    expect(headSnapshot(extended(log(), [{ kind: "rollback", target: 2, calls: [], closed: [] }]))).toBeUndefined();
    const joined = extended(log(), [checkpoint(2, 3, { ended: true })], [checkpoint(1, 4, { joined: 1 })]);
    expect(headSnapshot(joined)).toBeUndefined();
    expect(headSnapshot(extended(joined, [checkpoint(1, 5)]))).toBeDefined();
    expect(headSnapshot(projectionOf([run, lane(1)]))).toBeUndefined();
  });

  it("includes records of an older lane for the visit that a line repeats, and names that lane", () => {
    const index = projectionOf(
      [run, lane(1, { keep: "nothing" }), checkpoint(1, 1)],
      [answer(1, [1, 0], 7), outcome(1, [1, 0], "c1"), checkpoint(1, 2, { visit: [1, 0] })],
      [lane(2, { from: 2 }), outcome(2, [1, 0], "c2"), checkpoint(2, 3, { visit: [1, 1] })],
    );
    const { since = [], earlier, checkpoint: stored } = headSnapshot(index) ?? {};
    const records = since.flatMap((entry) => entry.records as readonly AgentRecord[]);
    expect(records).toMatchObject([
      { kind: "answer", lane: 2, visit: [1, 0] },
      { kind: "outcome", lane: 2, call: "c1" },
      { kind: "outcome", lane: 2, call: "c2" },
    ]);
    expect(earlier).toMatchObject([{ lane: 2, lanes: [{ lane: 1 }] }]);
    expect(stored?.visit).toEqual([1, 1]);
    const restored = begunAt(headSnapshot(index) as AgentRecord, 4);
    expect(linesTo(restored, "a", 2)).toEqual(linesTo(index, "a", 2));
  });

  it("includes the response that requested a call whose input it contains", () => {
    const index = projectionOf(
      [run, lane(1, { keep: "nothing" }), checkpoint(1, 1)],
      [answer(1, [1, 0], 7), checkpoint(1, 2, { input: { $answer: [1, 0, 7] } })],
      [{ kind: "intent", lane: 1, visit: [2, 0], call: "i8", tool: "t", effect: "none", node: "n" }],
    );
    const snapshot = headSnapshot(index);
    const kinds = (snapshot?.since ?? []).flatMap(({ records }) => records.map(({ kind }) => kind));
    expect(kinds).toEqual(["answer", "intent"]);
    expect(snapshot?.checkpoint.input).toMatchObject({ role: "assistant" });
  });

  it("does not grow with the history if many branches started from it", () => {
    const index = projectionOf([run, lane(1, { keep: "nothing" })]);
    for (let number = 1; number <= 500; number++)
      extended(index, [{ kind: "message", lane: 1, number, message: { role: "user", content: "x".repeat(100) } }]);
    extended(index, [checkpoint(1, 1)]);
    const size = () => JSON.stringify(headSnapshot(index)).length;
    const before = size();
    for (let at = 0; at < 50; at++) extended(index, [...branch(at + 2, at + 2, [1, 1, `${at}`])]);
    expect(size() - before).toBeLessThan(50 * 350);
  });

  it("is followed by the records of other lines in its append", () => {
    const index = projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)], [...branch(2, 2, [1, 1, "a"])]);
    const snapshot = headSnapshot(index) as AgentRecord;
    const restored = new LogProjection();
    const records = [checkpoint(1, 1), snapshot, checkpoint(2, 3, { ended: true, input: "out" })];
    restored.add({ position: 3, generation: 1, id: "1-3", records, checksum: "", prev: "" });
    expect(branchesOf(restored, 1).get("a")?.output).toBe("out");
    expect(restored.nextVersion).toBe(4);
  });
});
