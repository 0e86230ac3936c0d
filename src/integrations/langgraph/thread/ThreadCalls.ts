import { ERROR, WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import type { CheckpointEntry } from "./Checkpoints.ts";
import type { StoredCallEnd, CallEndRecord, CallRecord, WriteEntry } from "./GraphRecord.ts";

export interface StoredCall extends Omit<CallRecord, "kind" | "of" | "end"> {
  /** The checkpoint that the task follows. */
  readonly entry: CheckpointEntry;
  /** `undefined` for a started call without a recorded outcome. */
  readonly end: StoredCallEnd | undefined;
}

/** The calls of tasks that may run again. When the writes of a task are stored, its calls are no longer needed. */
export class ThreadCalls {
  /** By task, then by position. */
  readonly #tasks = new Map<string, Map<string, StoredCall>>();

  of(task: string): readonly StoredCall[] {
    return [...(this.#tasks.get(task)?.values() ?? [])];
  }

  get(id: string): StoredCall | undefined {
    return this.all().find(({ call }) => call === id);
  }

  all(): readonly StoredCall[] {
    return [...this.#tasks.values()].flatMap((calls) => [...calls.values()]);
  }

  begin({ kind: _kind, of: _of, end, ...facts }: CallRecord, entry: CheckpointEntry): void {
    const calls = this.#tasks.get(facts.task) ?? new Map<string, StoredCall>();
    calls.set(facts.at, { ...facts, entry, end });
    this.#tasks.set(facts.task, calls);
  }

  /**
   * Records the end of a call. The call may be missing here, because its task may have finished without waiting for the
   * call.
   */
  end({ call: id, end }: CallEndRecord): void {
    const call = this.get(id);
    if (call) this.#tasks.get(call.task)?.set(call.at, { ...call, end });
  }

  /** After a failure of the task, its failed calls are repeated. */
  written(task: string, writes: readonly WriteEntry[]): void {
    const calls = this.#tasks.get(task);
    if (!calls) return;
    if (writes.some(([channel]) => channel === ERROR)) {
      for (const [at, call] of calls) if (call.end?.error !== undefined) calls.set(at, { ...call, end: {} });
    } else if (writes.some(([channel]) => !Object.hasOwn(WRITES_IDX_MAP, channel))) this.#tasks.delete(task);
  }

  keep(isKept: (entry: CheckpointEntry) => boolean): void {
    for (const [task, calls] of this.#tasks) {
      const [first] = calls.values();
      if (!first || !isKept(first.entry)) this.#tasks.delete(task);
    }
  }

  *restated(): Generator<CallRecord> {
    for (const { entry, end, ...facts } of this.all())
      if (entry.put) yield { kind: "call", ...facts, of: entry.put.number, ...(end && { end }) };
  }
}
