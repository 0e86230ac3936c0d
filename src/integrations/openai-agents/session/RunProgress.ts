import type { NumberRange, ProgressRecord, SpliceRecord } from "./sessionRecords.ts";
import { numbersIn, rangesOf, type SessionItem } from "./numberedItems.ts";

/** One change of a run, or consecutive changes that only added items. */
interface RunStep {
  /** The progress of the run before the step. */
  readonly from: number;
  readonly done: number;
  /** The numbers of the added items. */
  readonly added: readonly number[];
  readonly dropped?: readonly number[] | undefined;
  /** The removed items. Missing after a pruning, and if another run has replaced all items later. */
  items?: readonly SessionItem[] | undefined;
}

/** The changes of a durable run to a session. */
export class RunProgress {
  #steps: RunStep[] = [];

  get done(): number {
    return this.#steps.at(-1)?.done ?? 0;
  }

  /** The removed items that a rollback of the run restores. */
  get removed(): readonly SessionItem[] {
    return this.#steps.flatMap(({ items = [] }) => items);
  }

  forgetRemoved(): void {
    for (const step of this.#steps) step.items = undefined;
  }

  /** @param removed the items that the change removed */
  add({ done, added = [], dropped }: ProgressRecord, removed: readonly SessionItem[]): void {
    if (done < this.done) return this.#cut(done);
    const step: RunStep = { from: this.done, done, added: numbersIn(added) };
    const last = this.#steps.at(-1);
    if (dropped) {
      const numbers = new Set(numbersIn(dropped));
      const items = removed.filter(({ number }) => numbers.has(number));
      this.#steps.push({ ...step, dropped: [...numbers], items });
    } else if (last && onlyAdds(last) && onlyAdds(step))
      this.#steps[this.#steps.length - 1] = { from: last.from, done, added: [...last.added, ...step.added] };
    else this.#steps.push(step);
  }

  /**
   * Returns the number of the item that a change added, or the numbers of the items that replaced all others.
   * `undefined` if the change is not known.
   */
  at(position: number): number | readonly number[] | undefined {
    const step = this.#steps.find(({ from, done }) => position >= from && position < done);
    if (!step) return undefined;
    if (step.dropped) return step.added;
    return onlyAdds(step) ? step.added[position - step.from] : undefined;
  }

  /** Returns the records that undo the changes from a position on. Removed items that are lost stay replaced. */
  undone(items: readonly SessionItem[], before: number): SpliceRecord[] {
    let left = items;
    const records: SpliceRecord[] = [];
    for (const step of this.#steps.toReversed()) {
      if (step.done <= before) break;
      if (step.dropped && step.items?.length !== step.dropped.length) continue;
      const added = new Set(onlyAdds(step) ? step.added.slice(Math.max(before - step.from, 0)) : step.added);
      // Removes from the end, so that earlier positions stay valid.
      for (const [at, { number }] of [...left.entries()].toReversed())
        if (added.has(number)) records.push({ kind: "splice", at, drop: 1 });
      const restored = step.items ?? [];
      records.push(...insertions(restored));
      left = [...restored, ...left.filter(({ number }) => !added.has(number))];
    }
    return records;
  }

  *restate(run: string): Iterable<ProgressRecord> {
    for (const { done, added, dropped } of this.#steps)
      yield {
        kind: "progress",
        run,
        done,
        ...(added.length > 0 && { added: ranges(added) }),
        ...(dropped && { dropped: ranges(dropped) }),
      };
  }

  #cut(done: number): void {
    this.#steps = this.#steps.flatMap((step) => {
      if (step.done <= done) return [step];
      return step.from < done ? [{ ...step, done, added: step.added.slice(0, done - step.from) }] : [];
    });
  }
}

function onlyAdds({ from, done, added, dropped }: RunStep): boolean {
  return !dropped && added.length === done - from;
}

function insertions(items: readonly SessionItem[]): SpliceRecord[] {
  let at = 0;
  return rangesOf(items).map(([first, last]) => {
    const from = at;
    at += last - first + 1;
    return { kind: "splice", at: from, first, items: items.slice(from, at).map(({ value }) => value) };
  });
}

function ranges(numbers: readonly number[]): NumberRange[] {
  return rangesOf(numbers.map((number) => ({ number })));
}
