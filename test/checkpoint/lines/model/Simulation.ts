import { placesBelow, placesOnWay } from "../../../../src/checkpoint/lines/lineage.ts";
import type { AgentRecord } from "../../../../src/checkpoint/records/AgentRecord.ts";
import type { LanePlace, CheckpointRecord, CheckpointPoint } from "../../../../src/checkpoint/records/lineRecords.ts";
import { type AgentState, visitAt } from "../../../../src/checkpoint/state/AgentState.ts";
import { branchesOf } from "../../../../src/checkpoint/state/BranchChanges.ts";
import { callsOf, foldLine } from "../../../../src/checkpoint/state/foldTo.ts";
import type { LogProjection } from "../../../../src/checkpoint/state/LogProjection.ts";
import { extended, projectionOf, run } from "../../support/projection.ts";
import { type Body, hash, type Item, type Leaf, type Random, randomBody, randomOf, undisturbed } from "./Program.ts";

/** Ways to write or read a log that lose something. */
export const mutants = [
  "head-is-newest-lane",
  "end-without-output",
  "ids-without-lane",
  "intent-not-awaited",
  "rollback-ignores-doubts",
  "rollback-spares-nested",
] as const;
/** Ways that are as good. */
export const variants = ["as it is", "lanes-when-started"] as const;
export type Variant = (typeof mutants)[number] | (typeof variants)[number];

/** One line as its process has it: lost in a crash, and then made again from the log. */
interface Line {
  readonly lane: number;
  at: number;
  input: string;
  base: number;
  /** The version of its newest checkpoint. */
  version: number;
  /** How many steps of its leaf are done, and what they gave. */
  step: number;
  got: string[];
  /** What was recorded of it before the crash. */
  known: AgentState | undefined;
  joined: number | undefined;
  output: string | undefined;
  /** It goes on once the log has this many records. */
  waits: number;
  intended: string | undefined;
  asked: boolean;
  reply: string | undefined;
  rolled: boolean;
}

const mostCrashes = 8;
const mostRollbacks = 4;

/** A random program in a random order of steps, with crashes and rollbacks: every step of every line is one atomic action. */
export class Simulation {
  readonly #variant: Variant;
  readonly #random: Random;
  readonly #main: Body;
  readonly #expected: { readonly output: string; readonly ledger: readonly string[] };
  /** What is durable, and what is appended next. */
  readonly #log: AgentRecord[] = [];
  #queue: AgentRecord[] = [];
  /** Of both. */
  #index!: LogProjection;
  #lines = new Map<number, Line>();
  /** What was done outside, by call. */
  readonly #effects = new Map<string, string>();
  readonly #reverted = new Set<string>();
  /** The visits that are over: none is over twice, once that is durable. */
  readonly #left = new Set<string>();
  #leaving: string[] = [];
  /** Which sub-agent a call runs. */
  readonly #subs = new Map<string, { readonly at: number; readonly sub: number }>();
  readonly counts = { crashes: 0, rollbacks: 0, within: 0, joins: 0 };

  constructor(seed: number, variant: Variant) {
    this.#variant = variant;
    this.#random = randomOf(seed);
    this.#main = randomBody(this.#random, 2, "m");
    const ledger: string[] = [];
    const output = undisturbed(this.#main, "in", ledger);
    this.#expected = { output, ledger: ledger.toSorted() };
    this.#restart();
  }

  /** @throws Error when something was lost, done twice or not reverted. */
  run(): void {
    for (let steps = 0; steps < 30_000; steps++) {
      const main = this.#lines.get(this.#index.lines.mainLane);
      if (main?.output !== undefined && this.#isDurable(main)) return this.#assertAsExpected(main.output);
      if (this.counts.crashes < mostCrashes && this.#random() < 0.01) this.#crash();
      else if (this.#queue.length > 0 && this.#random() < 0.3) this.#sync();
      else this.#stepOfOne();
    }
    throw new Error("It does not end.");
  }

  #stepOfOne(): void {
    const lines = [...this.#lines.values()];
    const line = lines[Math.floor(this.#random() * lines.length)];
    if (!(line && this.#step(line)) && this.#queue.length > 0) this.#sync();
  }

  #assertAsExpected(output: string): void {
    const ledger = [...this.#effects].flatMap(([call, name]) => (this.#reverted.has(call) ? [] : [name]));
    if (output !== this.#expected.output) throw new Error("It has another output.");
    if (JSON.stringify(ledger.toSorted()) !== JSON.stringify(this.#expected.ledger))
      throw new Error("It did other things.");
  }

  #put(...records: readonly AgentRecord[]): void {
    this.#queue.push(...records);
    extended(this.#index, records);
  }

  #sync(): void {
    this.#log.push(...this.#queue);
    this.#queue = [];
    for (const visit of this.#leaving.splice(0)) {
      if (this.#left.has(visit)) throw new Error(`${visit} ended twice.`);
      this.#left.add(visit);
    }
  }

  get #recorded(): number {
    return this.#log.length + this.#queue.length;
  }

  #isDurable({ waits }: Line): boolean {
    return this.#log.length >= waits;
  }

  #crash(): void {
    this.#lose();
    this.#finishRollback();
  }

  #lose(): void {
    this.counts.crashes++;
    this.#queue = [];
    this.#leaving = [];
    this.#restart();
  }

  /** What a process makes of the log that it finds. */
  #restart(): void {
    this.#index = projectionOf(this.#log);
    this.#lines = new Map();
    if (this.#log.length === 0) {
      this.#put(run, { kind: "lane", lane: 1, keep: "nothing" }, checkpoint(1, 1, 0, "in"));
      this.#lines.set(1, line(1, { version: 1, record: checkpoint(1, 1, 0, "in") }));
    } else for (const lane of this.#openLanes()) this.#restore(lane);
  }

  #openLanes(): readonly number[] {
    const { lines, lanes } = this.#index;
    if (this.#variant === "head-is-newest-lane") return [Math.max(...lanes.keys())];
    return lines.openLanes;
  }

  #restore(lane: number): void {
    const state = foldLine(this.#index, lane);
    const { checkpoint: point } = state ?? {};
    if (!state || !point) throw new Error(`Lane ${lane} cannot be restored.`);
    const restored = line(lane, point);
    restored.known = state;
    restored.joined = point.record.joined;
    if (point.record.ended) restored.output = String(point.record.input);
    if (this.#variant === "end-without-output" && point.record.ended && this.#index.lines.nestedLine(lane)) {
      restored.output = undefined;
      restored.at = Math.max(0, restored.at - 1);
    }
    this.#lines.set(lane, restored);
  }

  /** A line begins with a checkpoint of its own, in the same append: so visits are never those of another line. */
  #begin(place: LanePlace, input: string): Line {
    const { nextLane: lane, nextVersion: version } = this.#index;
    const record = checkpoint(lane, version, 0, input);
    this.#put({ kind: "lane", lane, place, keep: "fork" in place ? "all" : "nothing" }, record);
    const begun = line(lane, { version, record });
    begun.waits = this.#recorded;
    this.#lines.set(lane, begun);
    return begun;
  }

  #save(saved: Line, fields: Partial<CheckpointRecord> = {}): void {
    const version = this.#index.nextVersion;
    this.#put({ ...checkpoint(saved.lane, version, saved.at, saved.input), ...fields });
    const { joined } = fields;
    const next = {
      ...line(saved.lane, { version, record: checkpoint(saved.lane, version, saved.at, saved.input) }),
      joined,
    };
    Object.assign(saved, next, { waits: this.#recorded });
  }

  #bodyOf(lane: number): Body {
    const place = this.#index.lines.nestedLine(lane)?.place;
    if (!place) return this.#main;
    const body = this.#bodyOf(place.parent);
    if ("fork" in place) {
      const item = body[Number(this.#index.checkpoints.get(place.fork)?.record.node)];
      return (item && "fork" in item && item.fork[place.branch]) || [];
    }
    const { at = 0, sub = 0 } = this.#subs.get(place.call) ?? {};
    const item = body[at];
    return (item && leafOf(item).subs[sub]) || [];
  }

  /** @returns whether it did something. */
  #step(stepping: Line): boolean {
    if (!this.#isDurable(stepping) || stepping.output !== undefined) return false;
    const item = this.#bodyOf(stepping.lane)[stepping.at];
    if (item === undefined) {
      const output = stepping.input;
      this.#save(stepping, this.#index.lines.nestedLine(stepping.lane) ? { ended: true } : { status: "completed" });
      stepping.output = output;
      return true;
    }
    return "fork" in item && stepping.joined === undefined
      ? this.#forkOrJoin(stepping, Object.keys(item.fork))
      : this.#stepOfLeaf(stepping, leafOf(item));
  }

  #forkOrJoin(forking: Line, keys: readonly string[]): boolean {
    const { lane, version } = forking;
    const begun = this.#index.lines.branchesOf(version);
    const start = (key: string): Line =>
      this.#begin({ parent: lane, fork: version, branch: key }, hash(forking.input, key));
    const left = keys.filter((key) => !this.#index.lines.lineOf({ parent: lane, fork: version, branch: key }));
    if (this.#variant === "lanes-when-started" && left.length > 0) {
      start(left[Math.floor(this.#random() * left.length)] ?? "").waits = 0;
      return true;
    }
    if (begun.length === 0) {
      const lines = keys.map(start);
      for (const each of lines) each.waits = this.#recorded;
      return true;
    }
    const ends = begun.map((each) => this.#lines.get(each.lane));
    if (ends.some((each) => each?.output === undefined || !this.#isDurable(each))) return false;
    for (const each of begun) this.#lines.delete(each.lane);
    const outputs = branchesOf(this.#index, version);
    forking.input = hash(keys.map((key) => [key, outputs.get(key)?.output]));
    this.counts.joins++;
    this.#save(forking, { joined: version });
    return true;
  }

  /** A recorded call is found by its id; a line that goes on from another's checkpoint has ids of its own. */
  #id({ lane, base }: Line, ...what: readonly unknown[]): string {
    return this.#variant === "ids-without-lane" ? hash(base, what) : hash(lane, base, what);
  }

  #stepOfLeaf(stepping: Line, leaf: Leaf): boolean {
    if (leaf.rolls && !stepping.rolled && this.counts.rollbacks < mostRollbacks) {
      stepping.rolled = true;
      if (this.#random() < 0.6 && this.#rollBack(stepping)) return true;
    }
    if (stepping.step < leaf.calls) return this.#call(stepping, leaf);
    const asks = leaf.asks ? 1 : 0;
    if (stepping.step < leaf.calls + asks) return this.#ask(stepping, leaf);
    if (stepping.step < leaf.calls + asks + Math.min(1, leaf.subs.length)) return this.#runSubs(stepping, leaf);
    this.#leave(stepping, leaf);
    return true;
  }

  #leave(leaving: Line, { name }: Leaf): void {
    const visit = `${leaving.lane}:${leaving.base}:${name}`;
    leaving.input = hash(name, leaving.input, leaving.got);
    leaving.at++;
    this.#save(leaving);
    this.#leaving.push(visit);
  }

  #call(calling: Line, { name }: Leaf): boolean {
    const call = this.#id(calling, "c", calling.step);
    const recorded = calling.known?.calls.get(call);
    const visit = [calling.base, 0] as const;
    const facts = { lane: calling.lane, visit, call };
    if (recorded?.outcome) {
      calling.got.push(String(recorded.outcome.output));
      calling.step++;
    } else if (calling.intended !== call) {
      calling.intended = call;
      if (recorded) return true;
      this.#put({ kind: "intent", ...facts, tool: name, effect: "idempotent", node: "leaf" });
      if (this.#variant !== "intent-not-awaited") calling.waits = this.#recorded;
    } else this.#act(calling, name, facts);
    return true;
  }

  #act(
    calling: Line,
    name: string,
    facts: { readonly lane: number; readonly visit: readonly [number, number]; readonly call: string },
  ): void {
    const what = `${name}!${calling.step}`;
    const done = this.#effects.get(facts.call);
    if (done !== undefined && done !== what) throw new Error(`One id for two calls: ${done} and ${what}.`);
    this.#effects.set(facts.call, what);
    const output = hash(name, calling.step, calling.input);
    this.#put({ kind: "outcome", ...facts, output });
    calling.got.push(output);
    calling.step++;
  }

  #ask(asking: Line, { name }: Leaf): boolean {
    const { lane, base } = asking;
    const request = this.#id(asking, "r");
    const recorded = asking.known?.requests.get(request)?.reply;
    const reply = asking.reply ?? (recorded && String(recorded.answer));
    if (reply !== undefined) {
      if (reply !== name) throw new Error(`${name} gets the answer to ${reply}.`);
      asking.got.push(`yes ${name}`);
      asking.step++;
      return true;
    }
    if (!asking.asked) {
      asking.asked = true;
      const waitingFor = "user_input" as const;
      this.#put({
        kind: "request",
        lane,
        visit: [base, 0],
        request,
        node: "leaf",
        prompt: name,
        schema: {},
        waitingFor,
      });
      asking.waits = this.#recorded;
      return true;
    }
    if (this.#random() >= 0.3) return false;
    asking.reply = name;
    this.#put({ kind: "reply", lane, request, at: 0, answer: name });
    return true;
  }

  #runSubs(calling: Line, { subs }: Leaf): boolean {
    const lines = subs.map((_each, sub) => {
      const call = this.#id(calling, "s", sub);
      this.#subs.set(call, { at: calling.at, sub });
      const place = { parent: calling.lane, call };
      const begun = this.#index.lines.lineOf(place);
      return (begun && this.#lines.get(begun.lane)) ?? this.#begin(place, hash(calling.input, sub));
    });
    const outputs = lines.flatMap((each) => (this.#isDurable(each) ? (each.output ?? []) : []));
    if (outputs.length < lines.length) return false;
    calling.got.push(...outputs);
    for (const { lane } of lines) this.#lines.delete(lane);
    calling.step++;
    return true;
  }

  #rollBack({ lane }: Line): boolean {
    this.#sync();
    const index = this.#index;
    const newest = index.latestOf(lane);
    const isOnWay = newest ? placesOnWay(index, newest) : () => false;
    const points = [...index.checkpoints.values()];
    const way = points.filter(({ record, order }) => isOnWay(record.lane, order) && !record.ended);
    const target = way[Math.floor(this.#random() * way.length)];
    if (!target) return false;
    this.counts.rollbacks++;
    if (index.lines.nestedLine(target.record.lane)) this.counts.within++;
    const calls = this.#callsBelow(target);
    this.#put({ kind: "rollback", target: target.version, calls, closed: calls });
    this.#sync();
    this.#finishRollback();
    return true;
  }

  /** Newest first. A call without an end may have had its effect: it is made again under its id, and then reverted. */
  #callsBelow(target: CheckpointPoint): readonly string[] {
    const isBelow = placesBelow(this.#index, target);
    const counts = ({ lane, order }: { readonly lane: number; readonly order: number }): boolean =>
      isBelow(lane, order) && (this.#variant !== "rollback-spares-nested" || lane === target.record.lane);
    return callsOf(this.#index)
      .filter(({ outcome }) => outcome !== undefined || this.#variant !== "rollback-ignores-doubts")
      .filter((call) => counts(call) && !this.#reverted.has(call.call))
      .toSorted((a, b) => b.order - a.order)
      .map(({ call }) => call);
  }

  #finishRollback(): void {
    for (let open = this.#index.rollback; open; open = this.#index.rollback) {
      const { calls, target } = open;
      const isCut = calls.some((call) => {
        if (this.counts.crashes < mostCrashes && this.#random() < 0.05) return true;
        this.#reverted.add(call);
        return false;
      });
      const point = this.#index.checkpoints.get(target);
      if (isCut) this.#lose();
      else if (point) this.#continueAt(point);
    }
  }

  #continueAt(target: CheckpointPoint): void {
    const { nextLane: lane, nextVersion: version, lines } = this.#index;
    const place = lines.nestedLine(target.record.lane)?.place;
    const { status: _status, ...record } = target.record;
    this.#put(
      { kind: "lane", lane, from: target.version, keep: "all", ...(place && { place }) },
      { ...record, lane, version, visit: visitAt(target) },
      { kind: "rollback_end", target: target.version },
    );
    this.#sync();
    const before = this.#lines;
    this.#restart();
    // Lines beside the one that went back go on undisturbed.
    for (const [on, each] of before) if (this.#lines.has(on)) this.#lines.set(on, each);
  }
}

function leafOf(item: Item): Leaf {
  return "leaf" in item ? item.leaf : item.merge;
}

function checkpoint(lane: number, version: number, at: number, input: string): CheckpointRecord {
  return { kind: "checkpoint", lane, version, at: 0, node: String(at), input, iteration: 0 };
}

function line(lane: number, { version, record }: Pick<CheckpointPoint, "version" | "record">): Line {
  const { node, input, visit, joined } = record;
  return {
    lane,
    at: Number(node),
    input: String(input),
    base: visit?.[0] ?? version,
    version,
    step: 0,
    got: [],
    known: undefined,
    joined,
    output: undefined,
    waits: 0,
    intended: undefined,
    asked: false,
    reply: undefined,
    rolled: false,
  };
}
