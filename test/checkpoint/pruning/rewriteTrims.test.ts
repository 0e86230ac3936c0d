import type { Entry } from "agent-persistence/storage";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { AgentRecord, RestatedEntry } from "../../../src/checkpoint/records/AgentRecord.ts";
import { foldTo } from "../../../src/checkpoint/state/foldTo.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { rewriteKept } from "../../../src/checkpoint/pruning/rewriteKept.ts";
import { Pace } from "../../../src/internal/nextTurn.ts";
import { cases } from "../../soak/cases.ts";

interface Step {
  readonly kind: "message" | "edit" | "trim" | "checkpoint" | "run" | "fresh" | "branch";
  /** Which messages of the history are removed, and where others are inserted; for a branch, from which checkpoint. */
  readonly from: number;
  readonly count: number;
  readonly inserted: number;
  readonly kept: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 5, arbitrary: fc.constant("message" as const) },
    { weight: 4, arbitrary: fc.constantFrom("edit" as const, "trim" as const) },
    { weight: 4, arbitrary: fc.constant("checkpoint" as const) },
    { weight: 1, arbitrary: fc.constantFrom("run" as const, "fresh" as const, "branch" as const) },
  ),
  from: fc.nat(20),
  count: fc.nat(3),
  inserted: fc.nat(2),
  kept: fc.boolean(),
});

/** Writes a log step by step, in which each edit removes messages that are there. */
class Script {
  readonly index = new LogProjection();
  readonly entries: Entry[] = [];
  readonly kept = new Set<number>();
  #lane = 0;
  #version = 0;
  #number = 0;

  constructor(steps: readonly Step[]) {
    this.#begin("nothing");
    for (const each of steps) this.#take(each);
    this.kept.add(this.#checkpoint());
  }

  #take(each: Step): void {
    if (each.kind === "message") this.#add({ kind: "message", lane: this.#lane, ...this.#message() });
    else if (each.kind === "checkpoint") this.#save(each.kept);
    else if (each.kind === "run" || each.kind === "fresh") this.#nextRun(each);
    else if (each.kind === "branch") this.#branch(each.from);
    else this.#edit(each);
  }

  #edit({ kind, from, count, inserted }: Step): void {
    const history = foldTo(this.index)?.history ?? [];
    const at = history.length === 0 ? 0 : from % history.length;
    const remove = history.slice(at, at + count).map(({ number }) => [number, number] as const);
    const before = history[at + count]?.number;
    const insert = Array.from({ length: inserted }, () => this.#message());
    const edit = { kind: "edit", lane: this.#lane, remove, insert, ...(before !== undefined && { before }) } as const;
    this.#add(kind === "trim" ? { ...edit, trim: true } : edit);
  }

  #message(): { readonly number: number; readonly message: string } {
    const number = ++this.#number;
    return { number, message: `message ${number}` };
  }

  #save(kept: boolean): void {
    const version = this.#checkpoint();
    if (kept) this.kept.add(version);
  }

  #nextRun({ kind, kept }: Step): void {
    const version = this.#checkpoint("completed");
    if (kept) this.kept.add(version);
    this.#begin(kind === "fresh" ? "nothing" : "history", version);
  }

  #branch(which: number): void {
    const points = [...this.index.checkpoints.keys()];
    const from = points[which % points.length];
    if (from === undefined) return;
    this.kept.add(from);
    this.#begin("all", from);
  }

  #begin(keep: "all" | "history" | "nothing", from?: number): void {
    const lane = ++this.#lane;
    if (keep !== "all") this.#add({ kind: "run", run: `run ${lane}`, input: "", at: 0 });
    this.#add({ kind: "lane", lane, keep, ...(from !== undefined && { from }) });
  }

  #checkpoint(status?: "completed"): number {
    const version = ++this.#version;
    const point = { kind: "checkpoint", lane: this.#lane, version, at: 0, node: "n", input: "", iteration: 0 } as const;
    this.#add(status ? { ...point, status } : point);
    return version;
  }

  #add(record: AgentRecord): void {
    const position = this.entries.length + 1;
    const entry = { id: "", prev: "", generation: 1, checksum: "", position, records: [record] };
    this.entries.push(entry);
    this.index.add(entry);
  }
}

const rewritten = (entries: readonly Entry[], index: LogProjection, kept: ReadonlySet<number>) =>
  rewriteKept(entries, index, kept, () => false, new Pace());

function entriesOf(restated: readonly RestatedEntry[]): Entry[] {
  return restated.map((entry) => ({ id: "", prev: "", ...entry }));
}

it("a log with edits and trims keeps history and originals at each kept checkpoint", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { entries, index, kept } = new Script(steps);
      const restated = entriesOf(await rewritten(entries, index, kept));
      const after = new LogProjection();
      for (const entry of restated) after.add(entry);
      const historiesOf = (read: LogProjection) =>
        [...kept].map((version) => {
          const point = read.checkpoints.get(version);
          return [foldTo(read, point)?.history, foldTo(read, point, { originals: true })?.history];
        });
      expect(historiesOf(after)).toEqual(historiesOf(index));
      expect(entriesOf(await rewritten(restated, after, kept))).toEqual(restated);
    }),
    { numRuns: cases(70, 20_000) },
  );
});
