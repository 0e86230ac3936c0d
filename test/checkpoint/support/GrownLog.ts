import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import type {
  LanePlace,
  LaneRecord,
  CheckpointRecord,
  CheckpointPoint,
} from "../../../src/checkpoint/records/lineRecords.ts";
import type { Entry } from "../../../src/checkpoint/records/Entry.ts";
import { placesBelow, placesOnWay } from "../../../src/checkpoint/lines/lineage.ts";
import { headsOf } from "../../../src/checkpoint/pruning/neededCheckpoints.ts";
import { mergedAt } from "../../../src/checkpoint/state/BranchChanges.ts";
import { type AgentState, nextVisitOf } from "../../../src/checkpoint/state/AgentState.ts";
import { branchesOf } from "../../../src/checkpoint/state/BranchChanges.ts";
import { callsOf, foldLine } from "../../../src/checkpoint/state/foldTo.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { checkpoint, extended, lane, run } from "./projection.ts";

/** What happens next, on which of the open lines, and with what. */
export type Step = readonly [act: number, which: number, other: number];

type Act = (on: number, other: number, state: AgentState) => readonly AgentRecord[];

/** A log of random lines as the library may write it: they change their state, call tools, fork, are joined, and go back. */
export class GrownLog {
  readonly index = new LogProjection();
  readonly entries: Entry[] = [];
  #calls = 0;
  #runs = 1;
  readonly #acts: readonly Act[] = [
    (on, other) => [this.#message(on, { role: "user", content: `m${other}` })],
    (on, _other, state) => this.#answer(on, state),
    (on, other) => [{ kind: "storage", lane: on, key: `k${other % 3}`, value: { is: other } }],
    (on, other, state) => this.#unset(on, other, state),
    (on, other) => [{ kind: "settings", lane: on, model: `model ${other}`, tools: [] }],
    (on, other) => [{ kind: "requirements", lane: on, files: [`${other}.txt`], environment: {} }],
    (on, other) => [{ kind: "decision", lane: on, at: 0, node: "n", decision: `d${other}` }],
    (on, other, state) => this.#edit(on, other, state),
    (on, other, state) => this.#call(on, other, state),
    (on, other, state) => this.#call(on, other, state),
    (on, other, state) => this.#ask(on, other, state),
    (on) => [{ kind: "note", lane: on, key: "k", value: this.index.position }],
    (on) => this.#advance(on),
    (on) => this.#advance(on),
    (on, other) => [this.#checkpoint(on, other % 4 === 0 ? { id: `named ${this.index.nextVersion}` } : {})],
    (on, _other, state) => [
      this.#checkpoint(on, { visit: nextVisitOf(state), node: state.checkpoint?.record.node ?? "start" }),
    ],
    (on, other) => this.#fork(on, other),
    (on, other) => this.#fork(on, other),
    (on, other, state) => this.#subAgent(on, other, state),
    (on) => this.#advance(on),
    (_on, other, state) => this.#goBack(other, state),
    (on) => this.#nextRun(on),
    (_on, other) => this.#joinAll(other),
    (_on, other) => this.#joinAll(other),
  ];

  static readonly acts = 24;

  constructor(steps: readonly Step[]) {
    this.#append([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)]);
    for (const [act, which, other] of steps) {
      const open = this.index.lines.openLanes.filter((each) => !this.index.latestOf(each)?.record.ended);
      const on = open[which % open.length] ?? 1;
      const state = foldLine(this.index, on);
      const records = state && this.#acts[act % GrownLog.acts]?.(on, other, state);
      if (records && records.length > 0) this.#append(records);
    }
  }

  #append(records: readonly AgentRecord[]): void {
    const position = this.index.position + 1;
    extended(this.index, records);
    this.entries.push({ position, generation: 1, id: `1-${position}`, records, checksum: "", prev: "" });
  }

  #message(on: number, message: unknown): AgentRecord {
    return { kind: "message", lane: on, number: this.index.nextNumber, message };
  }

  #checkpoint(on: number, { node, ...fields }: Partial<CheckpointRecord> = {}): CheckpointRecord {
    const iteration = (this.index.latestOf(on)?.record.iteration ?? 0) + 1;
    return checkpoint(on, this.index.nextVersion, { iteration, ...(node !== undefined && { node }), ...fields });
  }

  #answer(on: number, state: AgentState): readonly AgentRecord[] {
    const visit = nextVisitOf(state);
    const ordinal = state.answers.size;
    const message = { role: "assistant", content: `a${this.index.position}` };
    return [
      { kind: "answer", lane: on, visit, ordinal, node: "n", message },
      this.#message(on, { $answer: [...visit, ordinal] }),
    ];
  }

  #unset(on: number, other: number, { storage }: AgentState): readonly AgentRecord[] {
    const key = [...storage.keys()][other % storage.size];
    return key === undefined ? [] : [{ kind: "storage", lane: on, key }];
  }

  #edit(on: number, other: number, { history }: AgentState): readonly AgentRecord[] {
    const at = history[other % history.length];
    if (!at) return [];
    const insert =
      other % 3 === 0 ? [] : [{ number: this.index.nextNumber, message: { role: "user", content: "new" } }];
    const before = history[(other + 1) % history.length]?.number;
    const isPlaced = before !== undefined && before !== at.number;
    const remove = other % 2 === 0 ? [] : [[at.number, at.number] as const];
    return [{ kind: "edit", lane: on, remove, insert, ...(isPlaced && { before }) }];
  }

  #intent(on: number, other: number, state: AgentState) {
    const effect = ["none", "idempotent", "other"][other % 3] ?? "none";
    const tool = other % 2 === 0 ? "book" : "look";
    const facts = { visit: nextVisitOf(state), call: `c${++this.#calls}`, tool, effect, node: "n", input: other };
    return { kind: "intent", lane: on, ...facts } as const;
  }

  #call(on: number, other: number, state: AgentState): readonly AgentRecord[] {
    const begun = this.#intent(on, other, state);
    const { visit, call } = begun;
    if (other % 7 === 0) return [begun];
    const error = other % 5 === 0 ? { error: { message: "no" } } : { output: `out ${call}` };
    const part = { type: "tool-result", toolCallId: call, toolName: begun.tool };
    return [
      begun,
      { kind: "outcome", lane: on, visit, call, ...error },
      ...(other % 2 === 0 ? [this.#message(on, { $outcomes: [{ part }] })] : []),
    ];
  }

  #ask(on: number, other: number, state: AgentState): readonly AgentRecord[] {
    const request = `q${this.index.position}`;
    const asked = { visit: nextVisitOf(state), request, node: "n", prompt: "?", schema: {} };
    return [
      { kind: "request", lane: on, waitingFor: "user_input", ...asked } as AgentRecord,
      ...(other % 2 === 0 ? [{ kind: "reply", lane: on, request, at: 0, answer: other } as const] : []),
    ];
  }

  /** A line joins its branches, or ends, or makes its next checkpoint. */
  #advance(on: number): readonly AgentRecord[] {
    const newest = this.index.latestOf(on);
    const branches = [...branchesOf(this.index, newest?.version ?? -1).values()];
    if (newest && branches.length > 0) {
      if (branches.some(({ checkpoint: last }) => !last?.record.ended)) return [];
      const joined = this.#checkpoint(on, { node: newest.record.node, joined: newest.version });
      return [joined];
    }
    const line = this.index.lines.nestedLine(on);
    const within = this.index.lines.openLanes.some((each) => this.#parentOf(each) === on);
    if (!line || within) return this.#afterJoin(on);
    const ended = this.#checkpoint(on, { ended: true, input: this.#outputOf(on) });
    if ("branch" in line.place) return [ended];
    const { call, parent } = line.place;
    const visit = callsOf(this.index).find((each) => each.call === call)?.visit ?? [0, 0];
    return [{ kind: "outcome", lane: parent, visit, call, output: "sub" }, ended];
  }

  /** The branches of an open fork end, and are joined. */
  #joinAll(other: number): readonly AgentRecord[] {
    const { index } = this;
    const forks = headsOf(index).filter(({ version }) => branchesOf(index, version).size > 0);
    const fork = forks[other % forks.length];
    if (!fork) return [];
    const open = [...branchesOf(index, fork.version).values()].filter((each) => !each.checkpoint?.record.ended);
    const lanes = open.map(({ line }) => line.lane);
    if (index.lines.openLanes.some((each) => lanes.includes(this.#parentOf(each) ?? -1))) return [];
    const ended = lanes.map((each, at) => {
      const { version, ...rest } = this.#checkpoint(each, { ended: true, input: this.#outputOf(each) });
      return { ...rest, version: version + at };
    });
    const { version, ...joined } = this.#checkpoint(fork.record.lane, { node: fork.record.node, joined: fork.version });
    return [...ended, { ...joined, version: version + ended.length }];
  }

  #parentOf(on: number): number | undefined {
    const line = this.index.lines.nestedLine(on);
    return line && this.index.latestOf(on)?.record.ended !== true ? line.place.parent : undefined;
  }

  #outputOf(on: number): unknown {
    const last = foldLine(this.index, on)?.history.at(-1);
    return last ? { $message: last.number } : `output of ${on}`;
  }

  /** What is merged refers to what is stored. */
  #afterJoin(on: number): readonly AgentRecord[] {
    const newest = this.index.latestOf(on);
    const fork = newest && mergedAt(this.index, newest);
    const next = this.#checkpoint(on);
    if (fork === undefined) return [next];
    const first = [...branchesOf(this.index, fork).values()].find(({ messages }) => messages.length > 0);
    const [message] = first?.messages ?? [];
    if (!first || !message) return [next];
    const lanes = [...first.lanes].reverse();
    const isThere = (each: number) =>
      this.index.laneRecords
        .get(each)
        ?.some(({ record }) => record.kind === "message" && record.number === message.number);
    const from = lanes.find(isThere);
    if (from === undefined) return [next];
    const reference = { $message: [message.number, from] };
    return [this.#message(on, reference), { ...next, input: reference }];
  }

  #fork(on: number, other: number): readonly AgentRecord[] {
    const newest = this.index.latestOf(on);
    if (!newest || newest.record.visit || branchesOf(this.index, newest.version).size > 0) return [];
    const [count, firstLane, firstVersion] = [1 + (other % 3), this.index.nextLane, this.index.nextVersion];
    return Array.from({ length: count }, (_, at) => {
      const place = { parent: on, fork: newest.version, branch: `b${at}` };
      const begun = checkpoint(firstLane + at, firstVersion + at, { iteration: newest.record.iteration });
      const said = this.#message(firstLane + at, { role: "user", content: `from ${firstLane + at}` });
      const message = { ...said, number: this.index.nextNumber + at } as AgentRecord;
      const keep = other % 4 === 0 ? "state" : "all";
      return [lane(firstLane + at, { place, keep }), begun, ...(other % 2 === 0 ? [message] : [])];
    }).flat();
  }

  #subAgent(on: number, other: number, state: AgentState): readonly AgentRecord[] {
    const begun = this.#intent(on, other, state);
    const own = this.index.nextLane;
    const place = { parent: on, call: begun.call };
    return [begun, lane(own, { keep: "nothing", place }), checkpoint(own, this.index.nextVersion)];
  }

  /** To a checkpoint on the way: a rollback, which reverts what is below, or a move, which leaves it. */
  #goBack(other: number, state: AgentState): readonly AgentRecord[] {
    const { checkpoint: newest } = state;
    const isOnWay = newest && placesOnWay(this.index, newest);
    const way = [...this.index.checkpoints.values()].filter(
      ({ record, order }) => isOnWay?.(record.lane, order) && !record.ended && !record.status,
    );
    const target = way[other % way.length];
    if (!target) return [];
    const place = this.index.lanes.get(target.record.lane)?.record.place;
    const moved = this.#movedTo(target, place);
    if (other % 2 === 0) return moved;
    const isBelow = placesBelow(this.index, target);
    const below = callsOf(this.index).filter(
      (each) => isBelow(each.lane, each.order) && each.outcome && !this.index.reverted.has(each.call),
    );
    const calls = below.map(({ call }) => call);
    return [
      { kind: "rollback", target: target.version, calls, closed: calls, participants: [{ key: "k", steps: [] }] },
      ...calls.map((call) => ({ kind: "reverted", call }) as const),
      ...moved,
      { kind: "rollback_end", target: target.version },
    ];
  }

  #movedTo(target: CheckpointPoint, place: LanePlace | undefined): readonly AgentRecord[] {
    const { version, record } = target;
    const fields: Partial<LaneRecord> = { from: version, ...(place && { place }) };
    const joined = mergedAt(this.index, target);
    const { node, input, iteration, visit = [version, 0] } = record;
    const begun = { node, input, iteration, visit, ...(joined !== undefined && { joined }) };
    const own = this.index.nextLane;
    return [lane(own, fields), checkpoint(own, this.index.nextVersion, begun)];
  }

  #nextRun(on: number): readonly AgentRecord[] {
    if (this.index.lines.openLanes.length > 1 || this.index.lines.nestedLine(on)) return [];
    const ended = this.#checkpoint(on, { status: "completed", input: "done" });
    const own = this.index.nextLane;
    return [
      ended,
      { kind: "run", run: `r${++this.#runs}`, input: "in", at: 0 },
      lane(own, { keep: "history", from: ended.version }),
      checkpoint(own, ended.version + 1),
    ];
  }
}
