import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { ShapeDefinition, ShapeState } from "./ShapeDefinition.ts";
import { readShape, type ShapeView } from "./readShape.ts";

/** Reads the logs of one shape without owning them. A log that was read recently is read from its last known append. */
export class ShapeViews<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly #shape: ShapeDefinition<Rec, State>;
  readonly #log: RecordLog;
  readonly #most: number;
  readonly #views = new Map<string, ShapeView<Rec, State>>();

  /** @param most The number of logs that are remembered. */
  constructor(shape: ShapeDefinition<Rec, State>, log: RecordLog, most: number) {
    this.#shape = shape;
    this.#log = log;
    this.#most = most;
  }

  /** The state of the last read. Changed by later reads. */
  known(id: string): State | undefined {
    return this.#views.get(id)?.state;
  }

  /** @param whole Reads the whole log even if a part of it was restated. Defaults to `false`. */
  async read(id: string, whole = false): Promise<ShapeView<Rec, State>> {
    const known = whole ? undefined : this.#views.get(id);
    // A view must not be updated by two reads at the same time.
    this.#views.delete(id);
    const view = await readShape(this.#shape, { log: this.#log, id }, { known, whole });
    if (view.exists) this.#views.set(id, view);
    for (const oldest of this.#views.keys()) {
      if (this.#views.size <= this.#most) break;
      this.#views.delete(oldest);
    }
    return view;
  }

  forget(id: string): void {
    this.#views.delete(id);
  }
}
